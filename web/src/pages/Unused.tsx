// Which columns may be dropped: used, unused with caveats, or not provable.
import { count, time } from '../parts/format';
import { FORMER, FormerLocations } from '../parts/FormerLocations';
import { ListTable } from '../parts/ListTable';
import { Chip, ColumnLink } from '../parts/Names';
import { Page } from '../parts/Page';
import { SYSTEM, SystemTables } from '../parts/SystemTables';
import { useAddressState } from '../parts/useAddressState';

export function Unused() {
  const state = useAddressState();
  const asked = { namespace: state.get('namespace'), dataset: state.get('dataset') };
  const strict = state.get('strict') === 'true';
  const system = state.get(SYSTEM) === 'true' ? 'true' : '';
  const former = state.get(FORMER) === 'true' ? 'true' : '';
  const only = state.get('verdict') || 'unused';
  return (
    <Page
      title="Unused columns"
      hint="Unused: every reader reports its columns and none reads this one. Unknown is never a guess: some reader does not say."
      tools={
        <>
          <label>Dataset <input value={asked.dataset} placeholder="all" onChange={(event) => state.set({ dataset: event.target.value, namespace: '' }, true)} /></label>{' '}
          <label title="A batch job that read a dataset and wrote nothing may have used any of its columns.">
            <input type="checkbox" checked={strict} onChange={(event) => state.set({ strict: event.target.checked ? 'true' : '' })} /> Strict: shown to somebody is unknown
          </label>
        </>
      }
    >
      <ListTable
        question="unused" asked={{ ...asked, verdict: only, strict: strict ? 'true' : 'false', ...(system && { system }), ...(former && { former }) }} usual="namespace" empty={({ verdicts }) => (Object.values(verdicts).some(Boolean) ? `No column is ${only}.` : 'No column is known yet.')}
        columns={[
          { id: 'column', sort: 'dataset', title: 'Column', value: (row) => `${row.namespace}/${row.dataset} ${row.column ?? ''}`, width: 'minmax(14rem, 3fr)', show: (row) => <ColumnLink column={row} /> },
          { id: 'reason', sort: 'reason', title: 'Why', value: (row) => `${row.reason ?? ''}${row.read_before_recreation ? ' (only before it was made anew)' : ''}${row.earlier ? ' (earlier)' : ''}${row.presumed_retired ? ' (only by jobs presumed retired)' : ''}${row.readers_only ? ' (column seen by readers only)' : ''}`, width: 'minmax(12rem, 3fr)' },
          { id: 'caveats', title: 'Before it goes', value: (row) => row.caveats.join(' '), width: 'minmax(12rem, 3fr)' },
          { id: 'readers', title: 'Readers of the dataset', value: (row) => [...row.dataset_readers.map((job) => job.name), ...row.consumers].join(', '), width: 'minmax(10rem, 2fr)' },
          { id: 'unread', title: 'SQL not read', value: (row) => row.dataset_unread.map((each) => `${each.job.name}: ${each.reason}`).join('; '), width: 'minmax(12rem, 2fr)' },
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
