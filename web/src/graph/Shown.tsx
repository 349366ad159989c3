// What of the graph is shown: jobs as what they are part of, and tables that databases keep of themselves.
import { useQuestion } from '../api/hooks';
import { count } from '../parts/format';
import { GranularitySwitch } from '../parts/GranularitySwitch';
import { useAddressState } from '../parts/useAddressState';
import { mapAsked } from './mapAsked';
import type { View } from './view';

export function Shown({ view }: { view: View }) {
  return (
    <>
      {view.dataset !== '' && <GranularitySwitch />}
      <SystemTables view={view} />
    </>
  );
}

function SystemTables({ view }: { view: View }) {
  const state = useAddressState();
  const focused = view.dataset !== '';
  const around = useQuestion('lineage', view.asked, { enabled: focused && !view.target.dataset });
  const map = useQuestion('graph', mapAsked(view, view.asOf), { enabled: !focused });
  const hidden = (focused ? around.data : map.data)?.hidden ?? 0;
  const all = state.get('system') === 'true';
  if (!hidden && !all) return null;
  return (
    <label className="check">
      <input type="checkbox" checked={all} onChange={(event) => state.set({ system: event.target.checked ? 'true' : '' })} />
      System tables{hidden > 0 && ` (${count(hidden)} left out)`}
    </label>
  );
}
