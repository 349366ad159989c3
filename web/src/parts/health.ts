// How things fare, asked for together: a graph of a thousand tables asks for those in sight, a hundred at a time.
import { useQuery, type UseQueryResult } from '@tanstack/react-query';

import { ask, type Answer, type Schemas } from '../api/client';
import { ownPace, queryClient, useQuestion } from '../api/hooks';
import type { Id } from '../api/marquez';

export type Faring = Schemas['HealthItem'];
type Kind = Faring['kind'];

const [AT_ONCE, WAIT_MS, FRESH_MS] = [100, 30, 15_000];
/** Of a whole lake: it costs Headwater seconds where there are ten thousands of tables. */
const TROUBLES = { asked: { limit: 1_000 }, everyMs: 60_000 };

const waiting: { key: string; done: (found: Faring | null) => void; failed: (error: unknown) => void }[] = [];

/** Ask for one of those that are drawn; what is asked for within a moment goes together. */
function together(key: string): Promise<Faring | null> {
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

/** How one thing of a picture fares, null where that is not known. Asked again now and then, not with each event. */
export function useFaring(kind: Kind, id: Id): UseQueryResult<Faring | null> {
  return useQuery({ ...queryOf(kind, id), ...ownPace(FRESH_MS) });
}

function queryOf(kind: Kind, id: Id) {
  const key = keyOf(kind, id);
  return { queryKey: ['faring', key], queryFn: () => together(key) };
}

/** The same, once: what is known of late is not asked for again. */
export const faringOf = (kind: Kind, id: Id): Promise<Faring | null> => queryClient.query({ ...queryOf(kind, id), staleTime: FRESH_MS });

/** All that does not fare well, the worst first, for boxes that stand for many. */
export function useTroubles(enabled: boolean): Answer<'health'> | undefined {
  return useQuestion('health', TROUBLES.asked, { enabled, ...ownPace(TROUBLES.everyMs) }).data;
}
