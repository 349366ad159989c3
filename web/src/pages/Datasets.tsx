// All datasets: owners, last write, and the state of the run that wrote them.
import { duration, milliseconds, time } from '../parts/format';
import { FormerNote, FORMER, FormerLocations } from '../parts/FormerLocations';
import { ListTable } from '../parts/ListTable';
import { Chip, DatasetLink, JobLink } from '../parts/Names';
import { TimeRangeFilter, SelectFilter, useListFilters } from '../parts/ListFilters';
import { Page } from '../parts/Page';
import { NothingYet } from '../parts/States';
import { SYSTEM, SystemTables } from '../parts/SystemTables';
import { useAddressState } from '../parts/useAddressState';

export function Datasets() {
  const { parameters, isFiltered } = useListFilters('namespace', 'owner', 'tag', 'state', 'since', 'until');
  const state = useAddressState();
  const system = state.get(SYSTEM) === 'true' ? 'true' : '';
  const former = state.get(FORMER) === 'true' ? 'true' : '';
  return (
    <Page title="Datasets" tools={<TimeRangeFilter what="Last written" />}>
      <ListTable
        question="datasets" parameters={{ ...parameters, ...(system && { system }), ...(former && { former }) }} usual="name"
        empty={isFiltered ? 'No dataset matches these filters.' : <NothingYet>No event has named a dataset yet.</NothingYet>}
        columns={[
          { id: 'name', sort: 'name', title: 'Dataset', value: (row) => row.display_name ?? row.name, width: 'minmax(14rem, 3fr)', show: (row) => <><DatasetLink id={row} /><FormerNote of={row.former} /></> },
          { id: 'namespace', sort: 'namespace', title: 'Namespace', value: (row) => row.namespace, width: 'minmax(9rem, 2fr)' },
          { id: 'owners', sort: 'owners', title: 'Owners', value: (row) => row.owners.join(', '), width: 'minmax(7rem, 1fr)' },
          { id: 'tags', sort: 'tags', title: 'Tags', value: (row) => row.tags.join(' '), width: 'minmax(6rem, 1fr)', show: (row) => row.tags.map((tag) => <bdi key={tag} className="chip">{tag}</bdi>) },
          { id: 'columns', sort: 'columns', down: true, title: 'Columns', value: (row) => row.columns, width: '7rem' },
          { id: 'written', sort: 'last_written', down: true, title: 'Last written', value: (row) => time(row.last_written), width: '12rem' },
          { id: 'job', sort: 'job', title: 'Written by', value: (row) => row.job?.name, width: 'minmax(9rem, 2fr)', show: (row) => row.job && <JobLink id={row.job} /> },
          { id: 'state', sort: 'state', title: 'Last run', value: (row) => row.last_run?.state, width: '8rem', show: (row) => row.last_run && <Chip kind={row.last_run.state}>{row.last_run.state}</Chip> },
          { id: 'took', sort: 'duration', down: true, title: 'Duration', value: (row) => row.last_run?.duration, width: '7rem', show: (row) => duration(milliseconds(row.last_run?.duration)) },
          { id: 'integration', sort: 'integration', title: 'Integration', value: (row) => row.integration, width: '7rem' },
        ]}
      >
        {({ choices, hidden, former_hidden }) => (
          <p className="filters">
            <SelectFilter name="namespace" title="Namespace" choices={choices.namespaces} /> <SelectFilter name="owner" title="Owner" choices={choices.owners} />{' '}
            <SelectFilter name="tag" title="Tag" choices={choices.tags} /> <SelectFilter name="state" title="Last run" choices={choices.states} />{' '}
            <SystemTables hidden={hidden} /> <FormerLocations hidden={former_hidden} />
          </p>
        )}
      </ListTable>
    </Page>
  );
}
