// Runs and commits without lineage: the last findings of `headwater reconcile --save`, with advice.
import type { Schemas } from '../api/client';
import { DataTable } from '../parts/DataTable';
import { count, time } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { DatasetLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Prose } from '../parts/Prose';

const LABELS: Record<Schemas['SavedFinding']['kind'], string> = {
  not_reported: 'ran without lineage',
  no_datasets: 'names no dataset',
  never_ended: 'never ended',
  dropped: 'events dropped',
  commit_without_run: 'commit without a run',
  committed_nothing: 'committed nothing',
};

export function Unreported() {
  return (
    <Page title="Not reported" hint={<Prose text="`headwater reconcile --save` compares job histories and Delta commits with the runs that sent events. This page lists the differences." />}>
      <ListTable
        question="unreported" usual="-time" empty={({ comparisons }) => (comparisons.length ? 'All compared runs sent events.' : 'No comparison was saved, so missing runs are unknown.')}
        columns={[
          { id: 'time', sort: 'time', down: true, title: 'Time', value: (row) => time(row.time), width: '12rem' },
          { id: 'kind', sort: 'kind', title: 'Finding', value: (row) => LABELS[row.kind] + (row.certain ? '' : ', by time'), width: '12rem' },
          { id: 'name', sort: 'name', title: 'Name', value: (row) => row.dataset?.dataset ?? row.name, width: 'minmax(12rem, 2fr)',
            show: (row) => row.dataset ? <DatasetLink id={{ namespace: row.dataset.namespace, name: row.dataset.dataset }} /> : <bdi>{row.name}</bdi> },
          { id: 'id', title: 'Execution', value: (row) => row.run ?? row.id, width: 'minmax(10rem, 2fr)',
            show: (row) => row.run ? <RunLink id={row.run} /> : <bdi>{row.id}</bdi> },
          { id: 'reason', sort: 'reason', title: 'Reason', value: (row) => row.reason, width: 'minmax(16rem, 3fr)' },
          { id: 'advice', title: 'Advice', value: (row) => row.advice, width: 'minmax(14rem, 3fr)' },
          { id: 'where', title: 'Source', value: (row) => row.where, width: 'minmax(10rem, 2fr)' },
        ]}
      >
        {(answer) => (
          <Section title="Comparisons">
            <DataTable<Schemas['Comparison']>
              name="comparisons" rows={answer.comparisons} empty={<Prose text="No comparison was saved yet. Run `headwater reconcile --save NAME`." />}
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
