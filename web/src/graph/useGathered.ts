import { useMemo } from 'react';

import { useTroubles } from '../parts/health';
import { gathered, hasGathered, type Badge } from './badges';
import type { Picture } from './picture';

const NONE: ReadonlyMap<string, Badge> = new Map();

/** How the groups, stacks and chains of a picture fare; asked for only where there are any. */
export function useGathered(picture: Picture | undefined): ReadonlyMap<string, Badge> {
  const troubles = useTroubles(picture !== undefined && hasGathered(picture));
  return useMemo(() => (picture && troubles ? gathered(picture, troubles) : NONE), [picture, troubles]);
}
