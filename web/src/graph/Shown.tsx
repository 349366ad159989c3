// What of the graph is shown: jobs as what they are part of, and tables that databases keep of themselves.
import { useQuestion } from '../api/hooks';
import { GranularitySwitch } from '../parts/GranularitySwitch';
import { SystemTables } from '../parts/SystemTables';
import { mapAsked } from './mapAsked';
import type { View } from './view';

export function Shown({ view }: { view: View }) {
  return (
    <>
      {view.dataset !== '' && <GranularitySwitch />}
      <SystemTablesOf view={view} />
    </>
  );
}

function SystemTablesOf({ view }: { view: View }) {
  const focused = view.dataset !== '';
  const around = useQuestion('lineage', view.asked, { enabled: focused && !view.target.dataset });
  const map = useQuestion('graph', mapAsked(view, view.asOf), { enabled: !focused });
  return <SystemTables hidden={(focused ? around.data : map.data)?.hidden ?? 0} />;
}
