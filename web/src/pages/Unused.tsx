// Which columns can be dropped: used, unused with caveats, or unknown.
import { count, time } from '../parts/format';
import { FORMER, FormerLocations } from '../parts/FormerLocations';
import { ListTable } from '../parts/ListTable';
import { Chip, ColumnLink } from '../parts/Names';
import { Page } from '../parts/Page';
import { SYSTEM, SystemTables } from '../parts/SystemTables';
import { useAddressState } from '../parts/useAddressState';

export function Unused() {
  const state = useAddressState();
  const parameters = { namespace: state.get('namespace'), dataset: state.get('dataset') };
  const strict = state.get('strict') === 'true';
  const system = state.get(SYSTEM) === 'true' ? 'true' : '';
  const former = state.get(FORMER) === 'true' ? 'true' : '';
  const only = state.get('verdict') || 'unused';
  return (
    <Page
      title="Unused columns"
      hint="Unused: every reader of the dataset reports its columns, and none reads this one. Unknown: at least one reader does not report its columns."
      tools={
        <>
          <label>Dataset <input value={parameters.dataset} placeholder="all" onChange={(event) => state.set({ dataset: event.target.value, namespace: '' }, true)} /></label>{' '}
          <label title="A batch job that reads a dataset and writes none may use all its columns. Strict mode answers “unknown” for them.">
            <input type="checkbox" checked={strict} onChange={(event) => state.set({ strict: event.target.checked ? 'true' : '' })} /> Strict: count reads without output
          </label>
        </>
      }
    >
      <ListTable
        question="unused" parameters={{ ...parameters, verdict: only, strict: strict ? 'true' : 'false', ...(system && { system }), ...(former && { former }) }} usual="namespace" empty={({ verdicts }) => (Object.values(verdicts).some(Boolean) ? `No column is ${only}.` : 'There are no columns yet.')}
        columns={[
          { id: 'column', sort: 'dataset', title: 'Column', value: (row) => `${row.namespace}/${row.dataset} ${row.column ?? ''}`, width: 'minmax(14rem, 3fr)', show: (row) => <ColumnLink column={row} /> },
          { id: 'reason', sort: 'reason', title: 'Reason', value: (row) => `${row.reason ?? ''}${row.read_before_recreation ? ' (only before the table was recreated)' : ''}${row.earlier ? ' (earlier)' : ''}${row.presumed_retired ? ' (only by jobs presumed retired)' : ''}${row.readers_only ? ' (column known only from readers)' : ''}`, width: 'minmax(12rem, 3fr)' },
          { id: 'caveats', title: 'Before you drop it', value: (row) => row.caveats.join(' '), width: 'minmax(12rem, 3fr)' },
          { id: 'readers', title: 'Readers of the dataset', value: (row) => [...row.dataset_readers.map((job) => job.name), ...row.consumers].join(', '), width: 'minmax(10rem, 2fr)' },
          { id: 'unread', title: 'Unparsed SQL', value: (row) => row.dataset_unread.map((each) => `${each.job.name}: ${each.reason}`).join('; '), width: 'minmax(12rem, 2fr)' },
          { id: 'since', sort: 'observed_since', down: true, title: 'Observed since', value: (row) => time(row.observed_since), width: '12rem' },
          { id: 'used', sort: 'last_used', down: true, title: 'Last used', value: (row) => time(row.last_used), width: '12rem' },
        ]}
      >
        {(answer) => (
          <>
            <div className="filters" role="group" aria-label="Show only">
              {(['unused', 'unknown', 'used'] as const).map((each) => (
                <button key={each} type="button" aria-pressed={only === each} onClick={() => state.set({ verdict: each })}>
                  <Chip kind={each}>{each}</Chip> {count(answer.verdicts[each])}
                </button>
              ))}{' '}
              <SystemTables hidden={answer.hidden} /> <FormerLocations hidden={answer.former_hidden} />
            </div>
            <ul className="reasons" aria-label="Reasons">
              {answer.reasons.filter((each) => each.verdict === only).map((each) => <li key={each.reason}>{count(each.count)}: {each.reason}</li>)}
            </ul>
          </>
        )}
      </ListTable>
    </Page>
  );
}
