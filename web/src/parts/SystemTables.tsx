// System tables of databases. Lists leave them out unless the user includes them.
import { count } from './format';
import { useAddressState } from './useAddressState';

export const SYSTEM = 'system';

/** A check box that is shown if the answer hides or includes system tables. hidden: the number of hidden system tables. */
export function SystemTables({ hidden }: { hidden: number }) {
  const state = useAddressState();
  const all = state.get(SYSTEM) === 'true';
  if (!hidden && !all) return null;
  return (
    <label className="check">
      <input type="checkbox" checked={all} onChange={(event) => state.set({ [SYSTEM]: event.target.checked ? 'true' : '' })} />
      System tables{hidden > 0 && ` (${count(hidden)} hidden)`}
    </label>
  );
}
