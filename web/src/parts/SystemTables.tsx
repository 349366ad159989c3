// Tables that databases keep of themselves: left out, unless they are asked for.
import { count } from './format';
import { useAddressState } from './useAddressState';

export const SYSTEM = 'system';

/** A switch where an answer left some out, or shows them; hidden: how many it left out. */
export function SystemTables({ hidden }: { hidden: number }) {
  const state = useAddressState();
  const all = state.get(SYSTEM) === 'true';
  if (!hidden && !all) return null;
  return (
    <label className="check">
      <input type="checkbox" checked={all} onChange={(event) => state.set({ [SYSTEM]: event.target.checked ? 'true' : '' })} />
      System tables{hidden > 0 && ` (${count(hidden)} left out)`}
    </label>
  );
}
