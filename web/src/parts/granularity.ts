// The granularity of jobs, kept in the address; `statement` does not group them.
import { useAddressState } from './useAddressState';

export const GRANULARITIES = ['statement', 'job', 'application', 'task', 'dag'] as const;
export type Granularity = (typeof GRANULARITIES)[number];

/** Parse the granularity from the address; an unknown value means the default. */
export function granularityOf(text: string, defaultValue: Granularity = 'statement'): Granularity {
  return GRANULARITIES.find((each) => each === text) ?? defaultValue;
}

export function useGranularity(defaultValue: Granularity = 'statement') {
  const state = useAddressState();
  return [
    granularityOf(state.get('granularity'), defaultValue),
    (next: string) => state.set({ granularity: next === defaultValue ? '' : next }),
  ] as const;
}
