// All jobs: owners, integration, and the state of the last run.
import { duration, milliseconds, time } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { Chip, JobLink, RunLink } from '../parts/Names';
import { TimeRangeFilter, SelectFilter, useListFilters } from '../parts/ListFilters';
import { Page } from '../parts/Page';
import { NothingYet } from '../parts/States';

export function Jobs() {
  const { parameters, isFiltered } = useListFilters('namespace', 'owner', 'tag', 'state', 'since', 'until');
  return (
    <Page title="Jobs" tools={<TimeRangeFilter what="Last event" />}>
      <ListTable
        question="jobs" parameters={parameters} usual="name"
        empty={isFiltered ? 'No job matches these filters.' : <NothingYet>No event has named a job yet.</NothingYet>}
        columns={[
          { id: 'name', sort: 'name', title: 'Job', value: (row) => row.name, width: 'minmax(14rem, 3fr)', show: (row) => <span title={row.original_names.length ? `sent as ${row.original_names.join(', ')}` : undefined}><JobLink id={row} /></span> },
          { id: 'namespace', sort: 'namespace', title: 'Namespace', value: (row) => row.namespace, width: 'minmax(9rem, 2fr)' },
          { id: 'owners', sort: 'owners', title: 'Owners', value: (row) => row.owners.join(', '), width: 'minmax(7rem, 1fr)' },
          { id: 'tags', sort: 'tags', title: 'Tags', value: (row) => row.tags.join(' '), width: 'minmax(6rem, 1fr)', show: (row) => row.tags.map((tag) => <bdi key={tag} className="chip">{tag}</bdi>) },
          { id: 'state', sort: 'state', title: 'Last run', value: (row) => row.last_run?.state, width: '8rem', show: (row) => row.last_run && <Chip kind={row.last_run.state}>{row.last_run.state}</Chip> },
          { id: 'started', sort: 'started', down: true, title: 'Started', value: (row) => time(row.last_run?.started), width: '12rem' },
          { id: 'took', sort: 'duration', down: true, title: 'Duration', value: (row) => row.last_run?.duration, width: '7rem', show: (row) => duration(milliseconds(row.last_run?.duration)) },
          { id: 'run', title: 'Run', value: (row) => row.last_run?.id, width: '11rem', show: (row) => row.last_run && <RunLink id={row.last_run.id} /> },
          { id: 'seen', sort: 'last_seen', down: true, title: 'Last event', value: (row) => time(row.last_seen), width: '12rem' },
          { id: 'integration', sort: 'integration', title: 'Integration', value: (row) => row.integration, width: '7rem' },
        ]}
      >
        {({ choices }) => (
          <p className="filters">
            <SelectFilter name="namespace" title="Namespace" choices={choices.namespaces} /> <SelectFilter name="owner" title="Owner" choices={choices.owners} />{' '}
            <SelectFilter name="tag" title="Tag" choices={choices.tags} /> <SelectFilter name="state" title="Last run" choices={choices.states} />
          </p>
        )}
      </ListTable>
    </Page>
  );
}
