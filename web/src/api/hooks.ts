// Hooks for questions. After a temporary error, the hooks repeat the question.
import { keepPreviousData, QueryClient, useQuery, type UseQueryResult } from '@tanstack/react-query';

import { ask, isTransient, request, type Answer, type QuestionParameters, type Query, type Question } from './client';

export const AGAIN_MS = 2_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 1_000,
      gcTime: 60_000,
      refetchOnWindowFocus: false,
      networkMode: 'always', // Headwater may run on this machine, so a missing network does not matter
      placeholderData: keepPreviousData,
      refetchInterval: (query) => (isTransient(query.state.error) ? AGAIN_MS : false),
    },
  },
});

/** Options for expensive questions: refresh the answer at this interval and not with each event. */
export const ownPace = (everyMs: number) => ({ meta: { ownPace: true }, staleTime: everyMs, refetchInterval: everyMs });

/** Ask a question of the Headwater API. With `enabled: false`, it does not ask yet; with `staleTime: 'static'`, it asks only once. */
export function useQuestion<N extends Question>(
  name: N,
  query: QuestionParameters<N>,
  options: { enabled?: boolean; staleTime?: 'static' | number } & Partial<Omit<ReturnType<typeof ownPace>, 'staleTime'>> = {},
): UseQueryResult<Answer<N>> {
  return useQuery({ queryKey: [name, query], queryFn: ({ signal }) => ask(name, query, signal), ...options });
}

/** Fetch any other address, such as one of the Marquez API. */
export function useAddress<T>(path: string, query: Query = {}, options: { enabled?: boolean } = {}): UseQueryResult<T> {
  return useQuery({
    queryKey: [path, query],
    queryFn: ({ signal }) => request<T>(path, query, { signal }),
    ...options,
  });
}
