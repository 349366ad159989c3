// All runs, newest first.
import type { ReactNode } from 'react';

import type { QuestionParameters } from '../api/client';
import type { Item } from '../api/lists';
import { duration, milliseconds, time } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { Chip, JobLink, RunLink } from '../parts/Names';
import { TimeRangeFilter, useListFilters } from '../parts/ListFilters';
import { Page } from '../parts/Page';
import { NothingYet } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

const STATES = ['RUNNING', 'COMPLETE', 'FAIL', 'ABORT', 'LOST', 'ENDED'] as const;

export function Runs() {
  const state = useAddressState();
  const { parameters, isFiltered } = useListFilters('namespace', 'job', 'state', 'since', 'until');
  const field = (name: 'namespace' | 'job', title: string) => (
    <label>{title} <input value={parameters[name]} placeholder="all" onChange={(event) => state.set({ [name]: event.target.value }, true)} /></label>
  );
  return (
    <Page title="Runs" hint="LOST: the run sent no end event and no other event for 24 h. ENDED: the run sent no end event, but its application has ended." tools={<>{field('namespace', 'Namespace')} {field('job', 'Job')} <TimeRangeFilter what="Last event" /></>}>
      <div className="filters" role="group" aria-label="Show only">
        {STATES.map((each) => (
          <button key={each} type="button" aria-pressed={parameters.state === each} onClick={() => state.set({ state: parameters.state === each ? '' : each })}><Chip kind={each}>{each}</Chip></button>
        ))}
      </div>
      <RunList parameters={parameters} empty={isFiltered ? 'No run matches these filters.' : <NothingYet>There are no runs yet.</NothingYet>} />
    </Page>
  );
}

interface Props {
  parameters: QuestionParameters<'runs'>;
  empty: ReactNode;
  /** Whether all runs belong to one job; then the job columns are left out. */
  ofOneJob?: boolean;
  prefix?: string;
  children?: (items: readonly Item<'runs'>[]) => ReactNode;
}

export function RunList({ parameters, empty, ofOneJob = false, prefix = '', children }: Props) {
  return (
    <ListTable
      question="runs" parameters={parameters} usual="-time" empty={empty} prefix={prefix}
      columns={[
        { id: 'state', sort: 'state', title: 'State', value: (row) => row.state, width: '8rem', show: (row) => <Chip kind={row.state}>{row.state}</Chip> },
        { id: 'run', sort: 'id', title: 'Run', value: (row) => row.id, width: 'minmax(11rem, 1fr)', show: (row) => <RunLink id={row.id} /> },
        ...(ofOneJob ? [] : [
          { id: 'job', sort: 'job', title: 'Job', value: (row: Item<'runs'>) => row.job.name, width: 'minmax(12rem, 3fr)', show: (row: Item<'runs'>) => <JobLink id={row.job} /> },
          { id: 'namespace', sort: 'namespace', title: 'Namespace', value: (row: Item<'runs'>) => row.job.namespace, width: 'minmax(9rem, 2fr)' },
        ]),
        { id: 'started', sort: 'started', down: true, title: 'Started', value: (row) => time(row.started), width: '12rem' },
        { id: 'ended', sort: 'ended', down: true, title: 'Ended', value: (row) => time(row.ended), width: '12rem' },
        { id: 'took', sort: 'duration', down: true, title: 'Duration', value: (row) => row.duration, width: '8rem', show: (row) => duration(milliseconds(row.duration)) },
        { id: 'heard', sort: 'time', down: true, title: 'Last event', value: (row) => time(row.last_event), width: '12rem' },
      ]}
    >
      {(_, items) => children?.(items)}
    </ListTable>
  );
}
