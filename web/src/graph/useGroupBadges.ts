import { useMemo } from 'react';

import { useUnhealthy } from '../parts/health';
import { groupBadgesOf, hasGroups, type Badge } from './badges';
import type { Picture } from './picture';

const NONE: ReadonlyMap<string, Badge> = new Map();

/** The badges of groups, stacks and chains. Fetched only if the picture has any. */
export function useGroupBadges(picture: Picture | undefined): ReadonlyMap<string, Badge> {
  const unhealthy = useUnhealthy(picture !== undefined && hasGroups(picture));
  return useMemo(() => (picture && unhealthy ? groupBadgesOf(picture, unhealthy) : NONE), [picture, unhealthy]);
}
