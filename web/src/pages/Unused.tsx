// Which columns may be dropped: used, unused with caveats, or not provable.
import type { Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { count, time } from '../parts/format';
import { Chip, ColumnLink } from '../parts/Names';
import { Page } from '../parts/Page';
import { Answered } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

export function Unused() {
  const state = useAddressState();
  const asked = { namespace: state.get('namespace'), dataset: state.get('dataset') };
  const strict = state.get('strict') === 'true';
  const only = state.get('verdict') || 'unused';
  const query = useQuestion('unused', { ...asked, strict: strict ? 'true' : 'false', limit: 10_000 });
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
      <Answered query={query}>
        {(answer) => (
          <>
            <div className="filters" role="group" aria-label="Show only">
              {(['unused', 'unknown', 'used'] as const).map((each) => (
                <button key={each} type="button" aria-pressed={only === each} onClick={() => state.set({ verdict: each })}>
                  <Chip kind={each}>{each}</Chip> {count(answer.verdicts[each])}
                </button>
              ))}
            </div>
            <ul className="reasons" aria-label="Reasons">
              {answer.reasons.filter((each) => each.verdict === only).map((each) => <li key={each.reason}>{count(each.count)}: {each.reason}</li>)}
            </ul>
            <DataTable<Schemas['Verdict']>
              name="unused" rows={answer.items.filter((item) => item.verdict === only)} truncated={answer.truncated}
              empty={`No column is ${only}.`}
              columns={[
                { id: 'column', title: 'Column', value: (row) => `${row.namespace}/${row.dataset} ${row.column ?? ''}`, width: 'minmax(14rem, 3fr)', show: (row) => <ColumnLink column={row} /> },
                { id: 'reason', title: 'Why', value: (row) => `${row.reason ?? ''}${row.read_before_recreation ? ' (only before it was made anew)' : ''}`, width: 'minmax(12rem, 3fr)' },
                { id: 'caveats', title: 'Before it goes', value: (row) => row.caveats.join(' '), width: 'minmax(12rem, 3fr)' },
                { id: 'readers', title: 'Readers of the dataset', value: (row) => [...row.also_read_by.map((job) => job.name), ...row.consumers].join(', '), width: 'minmax(10rem, 2fr)' },
                { id: 'since', title: 'Observed since', value: (row) => time(row.observed_since), width: '11rem' },
                { id: 'used', title: 'Last used', value: (row) => time(row.last_used), width: '11rem' },
              ]}
            />
          </>
        )}
      </Answered>
    </Page>
  );
}
