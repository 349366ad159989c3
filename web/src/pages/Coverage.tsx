// Which datasets and jobs have column lineage at all, and why the others have none.
import type { Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { count } from '../parts/format';
import { DatasetLink, JobLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Answered } from '../parts/States';

export function Coverage() {
  const query = useQuestion('coverage', { limit: 10_000 });
  return (
    <Page title="Coverage" hint="What lineage does not cover. Answers that touch these say `unknown` or where they stop.">
      <Answered query={query}>
        {(answer) => (
          <>
            <div className="columns">
              {(['datasets', 'jobs'] as const).map((side) => (
                <Section key={side} title={side === 'datasets' ? 'Datasets' : 'Jobs'}>
                  <dl className="about">
                    {Object.entries(answer[side]).map(([reason, many]) => [<dt key={reason}>{reason}</dt>, <dd key={`${reason}#`}>{count(many)}</dd>])}
                  </dl>
                </Section>
              ))}
            </div>
            <DataTable<Schemas['CoverageItem']>
              name="coverage" rows={answer.items} total={answer.totalCount} truncated={answer.truncated} empty="Column lineage covers everything."
              columns={[
                { id: 'kind', title: 'Kind', value: (row) => row.kind, width: '6rem' },
                { id: 'name', title: 'Name', value: (row) => row.dataset ?? row.name, width: 'minmax(14rem, 3fr)',
                  show: (row) => row.kind === 'dataset' ? <DatasetLink id={{ namespace: row.namespace, name: row.dataset ?? '' }} /> : <JobLink id={{ namespace: row.namespace, name: row.name ?? '' }} /> },
                { id: 'namespace', title: 'Namespace', value: (row) => row.namespace, width: 'minmax(10rem, 2fr)' },
                { id: 'reason', title: 'Why', value: (row) => row.reason, width: 'minmax(12rem, 2fr)' },
              ]}
            />
          </>
        )}
      </Answered>
    </Page>
  );
}
