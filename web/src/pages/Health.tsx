// Unhealthy datasets and jobs: failed, late, or stale because something upstream is.
import { ownPace, useQuestion } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { count, duration, time } from '../parts/format';
import { Status } from '../parts/HealthSection';
import { Chip, DatasetLink, JobLink, RunLink } from '../parts/Names';
import { Page } from '../parts/Page';
import { Answered } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

const FRESH_MS = 60_000; // refreshed rarely, because the answer covers every table and job
const STATUSES = ['failed', 'late', 'stale'] as const;

export function Health() {
  const state = useAddressState();
  const status = STATUSES.find((each) => each === state.get('status'));
  const query = useQuestion('health', { status, limit: 10_000 }, ownPace(FRESH_MS));
  return (
    <Page title="Health" hint="Failed: the last run failed. Late: the usual interval has passed. Stale: not written since something upstream failed or was due. Datasets and jobs with unknown health are not listed.">
      <Answered query={query}>
        {(answer) => (
          <>
            <div className="tools" role="group" aria-label="Show only">
              {STATUSES.map((each) => (
                <button key={each} type="button" aria-pressed={status === each} onClick={() => state.set({ status: status === each ? undefined : each })}>
                  {count(answer.statuses[each] ?? 0)} {each}
                </button>
              ))}
            </div>
            <DataTable
              name="health" rows={answer.items} total={answer.totalCount} truncated={answer.truncated} empty="No unhealthy datasets or jobs. Lateness is known from the sixth completed write or run."
              columns={[
                { id: 'status', title: 'State', value: (row) => row.status, width: '6.5rem', show: (row) => <Status status={row.status} /> },
                { id: 'kind', title: 'Kind', value: (row) => row.kind, width: '6rem' },
                { id: 'name', title: 'Name', value: (row) => row.name, width: 'minmax(12rem, 2fr)', show: (row) => (row.kind === 'job' ? <JobLink id={row} /> : <DatasetLink id={row} />) },
                { id: 'reason', title: 'Reason', value: (row) => row.reason, width: 'minmax(16rem, 4fr)' },
                { id: 'with', title: 'Failed jobs', value: (row) => row.failed_with.map(({ name }) => name).join(' '), width: 'minmax(8rem, 1fr)',
                  show: (row) => row.failed_with.map((job) => <span key={job.namespace + job.name}><JobLink id={job} /> </span>) },
                { id: 'last', title: 'Last success', value: (row) => time(row.last_success), width: '12rem' },
                { id: 'late', title: 'Late by', value: (row) => row.late_seconds, width: '7rem', show: (row) => duration(row.late_seconds === null ? null : row.late_seconds * 1_000) },
                { id: 'run', title: 'Last run', value: (row) => row.last_run?.id, width: '15rem',
                  show: (row) => row.last_run && <><Chip kind={row.last_run.state}>{row.last_run.state}</Chip> <RunLink id={row.last_run.id} /></> },
              ]}
            />
          </>
        )}
      </Answered>
    </Page>
  );
}
