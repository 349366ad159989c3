// All datasets: who owns them, when they were written last, and how that job fared.
import { duration, milliseconds, time } from '../parts/format';
import { Former, FORMER, FormerLocations } from '../parts/FormerLocations';
import { ListTable } from '../parts/ListTable';
import { Chip, DatasetLink, JobLink } from '../parts/Names';
import { Between, Choose, useNarrowed } from '../parts/Narrowing';
import { Page } from '../parts/Page';
import { NothingYet } from '../parts/States';
import { SYSTEM, SystemTables } from '../parts/SystemTables';
import { useAddressState } from '../parts/useAddressState';

export function Datasets() {
  const { asked, narrowed } = useNarrowed('namespace', 'owner', 'tag', 'state', 'since', 'until');
  const state = useAddressState();
  const system = state.get(SYSTEM) === 'true' ? 'true' : '';
  const former = state.get(FORMER) === 'true' ? 'true' : '';
  return (
    <Page title="Datasets" tools={<Between what="Last written" />}>
      <ListTable
        question="datasets" asked={{ ...asked, ...(system && { system }), ...(former && { former }) }} usual="name"
        empty={narrowed ? 'No dataset is so. Take a filter back.' : <NothingYet>No event named a dataset yet.</NothingYet>}
        columns={[
          { id: 'name', sort: 'name', title: 'Dataset', value: (row) => row.display_name ?? row.name, width: 'minmax(14rem, 3fr)', show: (row) => <><DatasetLink id={row} /><Former of={row.former} /></> },
          { id: 'namespace', sort: 'namespace', title: 'Namespace', value: (row) => row.namespace, width: 'minmax(9rem, 2fr)' },
          { id: 'owners', sort: 'owners', title: 'Owners', value: (row) => row.owners.join(', '), width: 'minmax(7rem, 1fr)' },
          { id: 'tags', sort: 'tags', title: 'Tags', value: (row) => row.tags.join(' '), width: 'minmax(6rem, 1fr)', show: (row) => row.tags.map((tag) => <bdi key={tag} className="chip">{tag}</bdi>) },
          { id: 'columns', sort: 'columns', down: true, title: 'Columns', value: (row) => row.columns, width: '7rem' },
          { id: 'written', sort: 'last_written', down: true, title: 'Last written', value: (row) => time(row.last_written), width: '12rem' },
          { id: 'job', sort: 'job', title: 'By', value: (row) => row.job?.name, width: 'minmax(9rem, 2fr)', show: (row) => row.job && <JobLink id={row.job} /> },
          { id: 'state', sort: 'state', title: 'Its last run', value: (row) => row.last_run?.state, width: '8rem', show: (row) => row.last_run && <Chip kind={row.last_run.state}>{row.last_run.state}</Chip> },
          { id: 'took', sort: 'duration', down: true, title: 'Took', value: (row) => row.last_run?.duration, width: '7rem', show: (row) => duration(milliseconds(row.last_run?.duration)) },
          { id: 'integration', sort: 'integration', title: 'Sent by', value: (row) => row.integration, width: '7rem' },
        ]}
      >
        {({ choices, hidden, former_hidden }) => (
          <p className="filters">
            <Choose name="namespace" title="Namespace" choices={choices.namespaces} /> <Choose name="owner" title="Owner" choices={choices.owners} />{' '}
            <Choose name="tag" title="Tag" choices={choices.tags} /> <Choose name="state" title="Last run" choices={choices.states} />{' '}
            <SystemTables hidden={hidden} /> <FormerLocations hidden={former_hidden} />
          </p>
        )}
      </ListTable>
    </Page>
  );
}
