// Former locations of tables. Lists leave them out unless the user includes them.
import type { Schemas } from '../api/client';
import { count, time } from './format';
import { useAddressState } from './useAddressState';

export const FORMER = 'former';

/** A check box that is shown if the answer hides or includes former locations. hidden: the number of hidden former locations. */
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

/** For a former location, shows the table that moved away and the time of the move. Shows nothing for a current location. */
export function FormerNote({ of }: { of: Schemas['FormerLocation'] | undefined }) {
  return of && <span className="muted"> former location of <bdi>{of.name}</bdi> since {time(of.since)}</span>;
}
