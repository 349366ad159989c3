// What changed between two moments: edges of columns that came, went, or changed in being masked.
import { Link } from 'react-router';

import { count, fieldOf, isoOf } from '../parts/format';
import { to } from '../parts/links';
import { ListTable } from '../parts/ListTable';
import { Chip, ColumnLink, JobLink } from '../parts/Names';
import { Page } from '../parts/Page';
import { Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

export function Diff() {
  const state = useAddressState();
  const from = state.get('from');
  const until = state.get('to');
  const change = state.get('change');
  const field = (name: string, title: string, value: string) => (
    <label>
      {title}{' '}
      <input type="datetime-local" step={1} value={fieldOf(value || null)} onChange={(event) => state.set({ [name]: isoOf(event.target.value) })} />
    </label>
  );
  return (
    <Page title="Changes in lineage" hint="Times are UTC, and those of events." tools={<>{field('from', 'From', from)} {field('to', 'to (now if empty)', until)}</>}>
      {from === '' ? <Empty>Say from when on. {['1', '7', '30', '365'].map((days) => <Ago key={days} days={Number(days)} />)}</Empty> : (
        <ListTable
          question="diff" asked={{ from, to: until, change }} usual="to_namespace" empty="Nothing changed between these moments."
          columns={[
            { id: 'change', sort: 'change', title: 'Change', value: (row) => row.change, width: '8rem', show: (row) => <Chip kind={row.change}>{row.change}</Chip> },
            { id: 'from', sort: 'from', title: 'From', value: (row) => `${row.from.dataset} ${row.from.column ?? ''}`, width: 'minmax(12rem, 3fr)', show: (row) => <ColumnLink column={row.from} /> },
            { id: 'to', sort: 'to', title: 'To', value: (row) => `${row.to.dataset} ${row.to.column ?? ''}`, width: 'minmax(12rem, 3fr)', show: (row) => <ColumnLink column={row.to} /> },
            { id: 'type', sort: 'type', title: 'Step', value: (row) => `${row.type}${row.masked ? ', masks' : ''}`.toLowerCase(), width: '9rem' },
            { id: 'job', sort: 'job', title: 'Job', value: (row) => row.job.name, width: 'minmax(10rem, 2fr)', show: (row) => <JobLink id={row.job} /> },
            { id: 'see', title: 'See it', value: () => '', width: '6rem', show: (row) => <Link to={to.lineage(row.to, { since: from, asOf: until })}>Graph</Link> },
          ]}
        >
          {(answer) => (
            <div className="filters" role="group" aria-label="Show only">
              {(['added', 'removed', 'changed'] as const).map((each) => (
                <button key={each} type="button" aria-pressed={change === each} onClick={() => state.set({ change: change === each ? '' : each })}>
                  <Chip kind={each}>{each}</Chip> {count(answer[each])}
                </button>
              ))}
            </div>
          )}
        </ListTable>
      )}
    </Page>
  );
}

function Ago({ days }: { days: number }) {
  const state = useAddressState();
  const choose = () => state.set({ from: new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 19) + 'Z' });
  return <button type="button" className="quiet" onClick={choose}>{days === 1 ? 'A day ago' : `${days} days ago`}</button>;
}
