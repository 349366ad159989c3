// What changed between two moments: edges of columns that came, went, or changed in being masked.
import { Link } from 'react-router';

import type { Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { count, fieldOf, isoOf } from '../parts/format';
import { to } from '../parts/links';
import { Chip, ColumnLink, JobLink } from '../parts/Names';
import { Page } from '../parts/Page';
import { Answered, Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

export function Diff() {
  const state = useAddressState();
  const from = state.get('from');
  const until = state.get('to');
  const query = useQuestion('diff', { from, to: until, limit: 10_000 }, { enabled: from !== '' });
  const field = (name: string, title: string, value: string) => (
    <label>
      {title}{' '}
      <input type="datetime-local" step={1} value={fieldOf(value || null)} onChange={(event) => state.set({ [name]: isoOf(event.target.value) })} />
    </label>
  );
  return (
    <Page title="Changes in lineage" hint="Times are UTC, and those of events." tools={<>{field('from', 'From', from)} {field('to', 'to (now if empty)', until)}</>}>
      {from === '' ? <Empty>Say from when on. {['1', '7', '30', '365'].map((days) => <Ago key={days} days={Number(days)} />)}</Empty> : (
        <Answered query={query}>
          {(answer) => (
            <>
              <p className="filters">
                <Chip kind="added">added</Chip> {count(answer.added)} <Chip kind="removed">removed</Chip> {count(answer.removed)}{' '}
                <Chip kind="changed">changed</Chip> {count(answer.changed)}
              </p>
              <DataTable<Schemas['DiffItem']>
                name="diff" rows={answer.items} total={answer.totalCount} truncated={answer.truncated} empty="Nothing changed between these moments."
                columns={[
                  { id: 'change', title: 'Change', value: (row) => row.change, width: '8rem', show: (row) => <Chip kind={row.change}>{row.change}</Chip> },
                  { id: 'from', title: 'From', value: (row) => `${row.from.dataset} ${row.from.column ?? ''}`, width: 'minmax(12rem, 3fr)', show: (row) => <ColumnLink column={row.from} /> },
                  { id: 'to', title: 'To', value: (row) => `${row.to.dataset} ${row.to.column ?? ''}`, width: 'minmax(12rem, 3fr)', show: (row) => <ColumnLink column={row.to} /> },
                  { id: 'type', title: 'Step', value: (row) => `${row.type}${row.masked ? ', masks' : ''}`.toLowerCase(), width: '9rem' },
                  { id: 'job', title: 'Job', value: (row) => row.job.name, width: 'minmax(10rem, 2fr)', show: (row) => <JobLink id={row.job} /> },
                  { id: 'see', title: 'See it', value: () => '', width: '6rem',
                    show: (row) => <Link to={to.lineage(row.to, { since: from, asOf: until })}>Graph</Link> },
                ]}
              />
            </>
          )}
        </Answered>
      )}
    </Page>
  );
}

function Ago({ days }: { days: number }) {
  const state = useAddressState();
  const choose = () => state.set({ from: new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 19) + 'Z' });
  return <button type="button" className="quiet" onClick={choose}>{days === 1 ? 'A day ago' : `${days} days ago`}</button>;
}
