// What narrows a list: fields whose values are in the address.
import type { ReactNode } from 'react';

import { count, fieldOf, isoOf } from './format';
import { useAddressState } from './useAddressState';

const LONGEST = 60;

/** What a list is narrowed to: parameters of the address by their names, and whether there is any. */
export function useNarrowed<N extends string>(...names: readonly N[]): { asked: Record<N, string>; narrowed: boolean } {
  const state = useAddressState();
  const asked = Object.fromEntries(names.map((name) => [name, state.get(name)])) as Record<N, string>;
  return { asked, narrowed: Object.values(asked).some(Boolean) };
}

/** One of the values that there are, the most frequent first, or all. */
export function Choose({ name, title, choices }: { name: string; title: string; choices: Readonly<Record<string, number>> }) {
  const state = useAddressState();
  const chosen = state.get(name);
  const known = Object.entries(choices);
  return (
    <label>
      {title}{' '}
      <select value={chosen} onChange={(event) => state.set({ [name]: event.target.value })}>
        <option value="">all</option>
        {chosen && !(chosen in choices) && <option value={chosen}>{isolated(chosen)}</option>}
        {known.map(([value, many]) => <option key={value} value={value}>{isolated(value)} ({count(many)})</option>)}
      </select>
    </label>
  );
}

/** Since when and until when, UTC. */
export function Between({ what }: { what: string }) {
  const state = useAddressState();
  const field = (name: string, title: ReactNode) => (
    <label>
      {title}{' '}
      <input type="datetime-local" step={1} value={fieldOf(state.get(name) || null)} onChange={(event) => state.set({ [name]: isoOf(event.target.value) })} />
    </label>
  );
  return <>{field('since', `${what} since`)} {field('until', 'until')}</>;
}

/** A name set apart from the direction of the text around it, of a length that fits. */
function isolated(name: string): string {
  return `\u2068${name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name}\u2069`;
}
