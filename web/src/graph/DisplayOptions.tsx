// Display options of the lineage graph: the granularity of jobs, and system tables.
import { useQuestion } from '../api/hooks';
import { GranularitySwitch } from '../parts/GranularitySwitch';
import { SystemTables } from '../parts/SystemTables';
import { mapParameters } from './mapParameters';
import type { View } from './view';

export function DisplayOptions({ view }: { view: View }) {
  return (
    <>
      {view.dataset !== '' && <GranularitySwitch />}
      <SystemTablesOf view={view} />
    </>
  );
}

function SystemTablesOf({ view }: { view: View }) {
  const focused = view.dataset !== '';
  const neighbourhood = useQuestion('lineage', view.parameters, { enabled: focused && !view.target.dataset });
  const map = useQuestion('graph', mapParameters(view, view.asOf), { enabled: !focused });
  return <SystemTables hidden={(focused ? neighbourhood.data : map.data)?.hidden ?? 0} />;
}
