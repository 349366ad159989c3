// What jobs are folded into, as the address keeps it; `statement` is each for itself.
import { useAddressState } from './useAddressState';

export const GRANULARITIES = ['statement', 'job', 'application', 'task', 'dag'] as const;
export type Granularity = (typeof GRANULARITIES)[number];

/** Read the granularity of the address: what it holds that is none counts as the default. */
export function granularityOf(text: string, standing: Granularity = 'statement'): Granularity {
  return GRANULARITIES.find((each) => each === text) ?? standing;
}

export function useGranularity(standing: Granularity = 'statement') {
  const state = useAddressState();
  return [
    granularityOf(state.get('granularity'), standing),
    (next: string) => state.set({ granularity: next === standing ? '' : next }),
  ] as const;
}
