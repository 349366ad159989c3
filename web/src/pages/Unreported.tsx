// Who did not report: what `headwater reconcile --save` found last, and what to do about it.
import type { Schemas } from '../api/client';
import { DataTable } from '../parts/DataTable';
import { count, time } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { DatasetLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Prose } from '../parts/Prose';

const SAID: Record<Schemas['SavedFinding']['kind'], string> = {
  not_reported: 'ran without lineage',
  no_datasets: 'names no dataset',
  never_ended: 'never ended',
  dropped: 'events dropped',
  commit_without_run: 'commit without a run',
  committed_nothing: 'committed nothing',
};

export function Unreported() {
  return (
    <Page title="Who did not report" hint={<Prose text="Job history and Delta commits, held against the runs that landed, by `headwater reconcile --save`." />}>
      <ListTable
        question="unreported" usual="-time" empty={({ comparisons }) => (comparisons.length ? 'All that ran has reported.' : 'So nobody can tell who did not report.')}
        columns={[
          { id: 'time', sort: 'time', down: true, title: 'Time', value: (row) => time(row.time), width: '12rem' },
          { id: 'kind', sort: 'kind', title: 'What', value: (row) => SAID[row.kind] + (row.certain ? '' : ', by time'), width: '12rem' },
          { id: 'name', sort: 'name', title: 'Name', value: (row) => row.dataset?.dataset ?? row.name, width: 'minmax(12rem, 2fr)',
            show: (row) => row.dataset ? <DatasetLink id={{ namespace: row.dataset.namespace, name: row.dataset.dataset }} /> : <bdi>{row.name}</bdi> },
          { id: 'id', title: 'Execution', value: (row) => row.run ?? row.id, width: 'minmax(10rem, 2fr)',
            show: (row) => row.run ? <RunLink id={row.run} /> : <bdi>{row.id}</bdi> },
          { id: 'reason', sort: 'reason', title: 'Why', value: (row) => row.reason, width: 'minmax(16rem, 3fr)' },
          { id: 'advice', title: 'What to do', value: (row) => row.advice, width: 'minmax(14rem, 3fr)' },
          { id: 'where', title: 'Where', value: (row) => row.where, width: 'minmax(10rem, 2fr)' },
        ]}
      >
        {(answer) => (
          <Section title="Comparisons">
            <DataTable<Schemas['Comparison']>
              name="comparisons" rows={answer.comparisons} empty={<Prose text="Nothing was compared yet: run `headwater reconcile --save NAME`." />}
              columns={[
                { id: 'name', title: 'Name', value: (row) => row.name, width: 'minmax(10rem, 2fr)' },
                { id: 'since', title: 'From', value: (row) => time(row.since), width: '12rem' },
                { id: 'until', title: 'To', value: (row) => time(row.until), width: '12rem' },
                { id: 'findings', title: 'Findings', value: (row) => row.findings, show: (row) => count(row.findings), width: '7rem' },
              ]}
            />
          </Section>
        )}
      </ListTable>
    </Page>
  );
}
