// Locations that no name means any more: left out of lists, unless they are asked for.
import type { Schemas } from '../api/client';
import { count, time } from './format';
import { useAddressState } from './useAddressState';

export const FORMER = 'former';

/** A switch where an answer left some out, or shows them; hidden: how many it left out. */
export function FormerLocations({ hidden }: { hidden: number }) {
  const state = useAddressState();
  const all = state.get(FORMER) === 'true';
  if (!hidden && !all) return null;
  return (
    <label className="check">
      <input type="checkbox" checked={all} onChange={(event) => state.set({ [FORMER]: event.target.checked ? 'true' : '' })} />
      Former locations{hidden > 0 && ` (${count(hidden)} left out)`}
    </label>
  );
}

/** Which name left a location, and when; nothing while a name means it. */
export function Former({ of }: { of: Schemas['FormerLocation'] | undefined }) {
  return of && <span className="muted"> former location of <bdi>{of.name}</bdi> since {time(of.since)}</span>;
}
