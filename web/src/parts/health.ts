// Health of datasets and jobs, fetched in batches: a graph of a thousand tables fetches the visible ones, 100 per request.
import { useQuery, type UseQueryResult } from '@tanstack/react-query';

import { ask, type Answer, type Schemas } from '../api/client';
import { ownPace, queryClient, useQuestion } from '../api/hooks';
import type { Id } from '../api/marquez';

export type HealthItem = Schemas['HealthItem'];
type Kind = HealthItem['kind'];

const [AT_ONCE, WAIT_MS, FRESH_MS] = [100, 30, 15_000];
/** The question about the health of the whole lake. With tens of thousands of tables, the server needs seconds to answer it. */
const UNHEALTHY = { parameters: { limit: 1_000 }, everyMs: 60_000 };

const waiting: { key: string; done: (found: HealthItem | null) => void; failed: (error: unknown) => void }[] = [];

/** Fetch the health of one box. Requests within WAIT_MS share one batch. */
function queueRequest(key: string): Promise<HealthItem | null> {
  if (!waiting.length) setTimeout(() => void send(waiting.splice(0)), WAIT_MS);
  return new Promise((done, failed) => waiting.push({ key, done, failed }));
}

async function send(all: typeof waiting): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const some = all.slice(at, at + AT_ONCE);
    try {
      const { items } = await ask('health/shown', { of: some.map(({ key }) => key) });
      const found = new Map(items.map((each) => [keyOf(each.kind, each), each]));
      for (const { key, done } of some) done(found.get(key) ?? null);
    } catch (error) {
      for (const { failed } of some) failed(error);
    }
  }
}

const keyOf = (kind: Kind, { namespace, name }: Id): string => JSON.stringify([kind, namespace, name]);

/** The health of one box, or null if unknown. It refreshes at its own interval, not with each event. */
export function useBoxHealth(kind: Kind, id: Id): UseQueryResult<HealthItem | null> {
  return useQuery({ ...queryOf(kind, id), ...ownPace(FRESH_MS) });
}

function queryOf(kind: Kind, id: Id) {
  const key = keyOf(kind, id);
  return { queryKey: ['healthItem', key], queryFn: () => queueRequest(key) };
}

/** Fetch the health of one box once, from the cache if it is fresh. */
export const fetchBoxHealth = (kind: Kind, id: Id): Promise<HealthItem | null> => queryClient.query({ ...queryOf(kind, id), staleTime: FRESH_MS });

/** All unhealthy datasets and jobs, worst first, for boxes that represent several. */
export function useUnhealthy(enabled: boolean): Answer<'health'> | undefined {
  return useQuestion('health', UNHEALTHY.parameters, { enabled, ...ownPace(UNHEALTHY.everyMs) }).data;
}
