// Filters of a list. Their values are in the address.
import type { ReactNode } from 'react';

import { count, fieldOf, isoOf } from './format';
import { useAddressState } from './useAddressState';

const LONGEST = 60;

/** Return the values of the filters in the address by name, and whether any filter is set. */
export function useListFilters<N extends string>(...names: readonly N[]): { parameters: Record<N, string>; isFiltered: boolean } {
  const state = useAddressState();
  const parameters = Object.fromEntries(names.map((name) => [name, state.get(name)])) as Record<N, string>;
  return { parameters, isFiltered: Object.values(parameters).some(Boolean) };
}

/** A field that selects all values or one of the existing values, most frequent first. choices: number of items by value. */
export function SelectFilter({ name, title, choices }: { name: string; title: string; choices: Readonly<Record<string, number>> }) {
  const state = useAddressState();
  const chosen = state.get(name);
  const known = Object.entries(choices);
  return (
    <label>
      {title}{' '}
      <select value={chosen} onChange={(event) => state.set({ [name]: event.target.value })}>
        <option value="">all</option>
        {chosen && !(chosen in choices) && <option value={chosen} dir="auto">{shortened(chosen)}</option>}
        {known.map(([value, many]) => <option key={value} value={value} dir="auto">{shortened(value)} ({count(many)})</option>)}
      </select>
    </label>
  );
}

/** Two fields that select a time range (UTC). */
export function TimeRangeFilter({ what }: { what: string }) {
  const state = useAddressState();
  const field = (name: string, title: ReactNode) => (
    <label>
      {title}{' '}
      <input type="datetime-local" step={1} value={fieldOf(state.get(name) || null)} onChange={(event) => state.set({ [name]: isoOf(event.target.value) })} />
    </label>
  );
  return <>{field('since', `${what} since`)} {field('until', 'until')}</>;
}

const shortened = (name: string): string => (name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);
