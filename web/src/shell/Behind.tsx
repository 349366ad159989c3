// A warning on every page if answers do not include the newest events yet.
import { useQuery } from '@tanstack/react-query';

import { ask } from '../api/client';
import { duration } from '../parts/format';

/** Shorter delays are normal: an event takes a few seconds from its acknowledgement to the index. */
export const BEHIND_S = 10;
const LOOK_MS = 10_000;

export function Behind() {
  const { data } = useQuery({ queryKey: ['behind'], queryFn: ({ signal }) => ask('freshness', {}, signal), refetchInterval: LOOK_MS });
  if (!data || data.seconds <= BEHIND_S) return null;
  return (
    <span className="behind-mark" role="status" title="The age of the oldest event that is missing in answers. The overview shows where it waits.">
      Answers are {duration(data.seconds * 1_000)} behind
    </span>
  );
}
