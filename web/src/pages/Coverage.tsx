// Which datasets and jobs have column lineage, and why the others have none.
import { count } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { DatasetLink, JobLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { SYSTEM, SystemTables } from '../parts/SystemTables';
import { useAddressState } from '../parts/useAddressState';

export function Coverage() {
  const state = useAddressState();
  const kind = state.get('kind');
  const system = state.get(SYSTEM) === 'true' ? 'true' : '';
  return (
    <Page title="Coverage" hint="Datasets and jobs without complete lineage. Answers about them are “unknown”, or state where lineage stops.">
      <ListTable
        question="coverage" parameters={{ kind, ...(system && { system }) }} usual="kind" empty={({ datasets, jobs }) => (Object.keys({ ...datasets, ...jobs }).length ? 'Column lineage covers everything.' : 'There are no datasets and jobs yet.')}
        columns={[
          { id: 'kind', sort: 'kind', title: 'Kind', value: (row) => row.kind, width: '6rem' },
          { id: 'name', sort: 'name', title: 'Name', value: (row) => row.dataset ?? row.name, width: 'minmax(14rem, 3fr)',
            show: (row) => row.kind === 'dataset' ? <DatasetLink id={{ namespace: row.namespace, name: row.dataset ?? '' }} /> : <JobLink id={{ namespace: row.namespace, name: row.name ?? '' }} /> },
          { id: 'namespace', sort: 'namespace', title: 'Namespace', value: (row) => row.namespace, width: 'minmax(10rem, 2fr)' },
          { id: 'reason', sort: 'reason', title: 'Reason', value: (row) => row.reason, width: 'minmax(12rem, 2fr)' },
          { id: 'unread', title: 'Unparsed SQL', value: (row) => row.unread.join('; '), width: 'minmax(12rem, 2fr)' },
        ]}
      >
        {(answer) => (
          <>
            <div className="columns">
              {(['datasets', 'jobs'] as const).filter((side) => Object.keys(answer[side]).length > 0).map((side) => (
                <Section key={side} title={side === 'datasets' ? 'Datasets' : 'Jobs'}>
                  <dl className="about">
                    {Object.entries(answer[side]).map(([reason, many]) => [<dt key={reason}>{reason}</dt>, <dd key={`${reason}#`}>{count(many)}</dd>])}
                  </dl>
                </Section>
              ))}
            </div>
            <div className="filters" role="group" aria-label="Show only">
              {(['dataset', 'job'] as const).map((each) => (
                <button key={each} type="button" aria-pressed={kind === each} onClick={() => state.set({ kind: kind === each ? '' : each })}>{each === 'job' ? 'Jobs' : 'Datasets'}</button>
              ))}{' '}
              <SystemTables hidden={answer.hidden} />
            </div>
          </>
        )}
      </ListTable>
    </Page>
  );
}
