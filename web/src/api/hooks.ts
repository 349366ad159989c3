// Questions as hooks: what cannot be answered now is asked again until it can.
import { keepPreviousData, QueryClient, useQuery, type UseQueryResult } from '@tanstack/react-query';

import { ask, mayPass, request, type Answer, type Asked, type Query, type Question } from './client';

export const AGAIN_MS = 2_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 1_000,
      gcTime: 60_000,
      refetchOnWindowFocus: false,
      networkMode: 'always', // a machine without a network still has its own Headwater
      placeholderData: keepPreviousData,
      refetchInterval: (query) => (mayPass(query.state.error) ? AGAIN_MS : false),
    },
  },
});

/** Of what costs more than a page should ask for with each event: asked again so often, and by nothing else. */
export const ownPace = (everyMs: number) => ({ meta: { ownPace: true }, staleTime: everyMs, refetchInterval: everyMs });

/** Ask a question of our own API; `enabled: false` waits, what is static is asked once. */
export function useQuestion<N extends Question>(
  name: N,
  query: Asked<N>,
  options: { enabled?: boolean; staleTime?: 'static' | number } & Partial<Omit<ReturnType<typeof ownPace>, 'staleTime'>> = {},
): UseQueryResult<Answer<N>> {
  return useQuery({ queryKey: [name, query], queryFn: ({ signal }) => ask(name, query, signal), ...options });
}

/** Ask any other address, such as Marquez's. */
export function useAddress<T>(path: string, query: Query = {}, options: { enabled?: boolean } = {}): UseQueryResult<T> {
  return useQuery({
    queryKey: [path, query],
    queryFn: ({ signal }) => request<T>(path, query, { signal }),
    ...options,
  });
}
