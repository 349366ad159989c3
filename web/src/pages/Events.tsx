// Stored events, newest first.
import { time } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { Chip, JobLink, RunLink } from '../parts/Names';
import { Page } from '../parts/Page';
import { NothingYet } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

export function Events() {
  const state = useAddressState();
  const parameters = { run: state.get('run'), job: state.get('job'), since: state.get('since') };
  return (
    <Page
      title="Events" hint={parameters.since && `Received since ${time(parameters.since)} UTC.`}
      tools={
        <>
          <label>Job <input value={parameters.job} placeholder="all" onChange={(event) => state.set({ job: event.target.value }, true)} /></label>{' '}
          <label>Run <input value={parameters.run} placeholder="all" onChange={(event) => state.set({ run: event.target.value }, true)} /></label>
        </>
      }
    >
      <ListTable
        question="events" parameters={parameters} usual="-received_at" empty={Object.values(parameters).some(Boolean) ? 'No event matches these filters.' : <NothingYet>There are no events yet.</NothingYet>}
        columns={[
          { id: 'received', sort: 'received_at', down: true, title: 'Received', value: (row) => time(row.received_at), width: '12rem' },
          { id: 'time', sort: 'event_time', down: true, title: 'Event time', value: (row) => time(row.event_time), width: '12rem' },
          { id: 'type', sort: 'event_type', title: 'Type', value: (row) => row.event_type ?? row.event_kind, width: '7rem', show: (row) => <Chip kind={row.event_type ?? row.event_kind}>{row.event_type ?? row.event_kind}</Chip> },
          { id: 'job', sort: 'job_name', title: 'Job', value: (row) => row.job_name, width: 'minmax(14rem, 3fr)', show: (row) => row.job_name && <JobLink id={{ namespace: row.job_namespace ?? '', name: row.job_name }} /> },
          { id: 'run', sort: 'run_id', title: 'Run', value: (row) => row.run_id, width: '11rem', show: (row) => row.run_id && <RunLink id={row.run_id} /> },
          { id: 'flags', title: 'Flags', value: (row) => (row.flags ?? []).join(' '), width: 'minmax(6rem, 1fr)' },
          { id: 'producer', sort: 'producer', title: 'Producer', value: (row) => row.producer, width: 'minmax(10rem, 2fr)' },
        ]}
      />
    </Page>
  );
}
