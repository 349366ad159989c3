// Former locations of tables. Lists leave them out unless the user includes them.
import type { Schemas } from '../api/client';
import { count, time } from './format';
import { useAddressState } from './useAddressState';

export const FORMER = 'former';

/** A check box, shown if the answer hides former locations or includes them. hidden: how many it hides. */
export function FormerLocations({ hidden }: { hidden: number }) {
  const state = useAddressState();
  const all = state.get(FORMER) === 'true';
  if (!hidden && !all) return null;
  return (
    <label className="check">
      <input type="checkbox" checked={all} onChange={(event) => state.set({ [FORMER]: event.target.checked ? 'true' : '' })} />
      FormerNote locations{hidden > 0 && ` (${count(hidden)} hidden)`}
    </label>
  );
}

/** The name that moved away from this location, and when. Empty for a current location. */
export function FormerNote({ of }: { of: Schemas['FormerLocation'] | undefined }) {
  return of && <span className="muted"> former location of <bdi>{of.name}</bdi> since {time(of.since)}</span>;
}
