// One job: how its runs fared, what it reads and writes, its SQL and facets.
import { lazy, Suspense } from 'react';

import { useAddress } from '../api/hooks';
import { marquez, stateOf, type Id, type Job as Described, type Runs as Listed } from '../api/marquez';
import { DataTable } from '../parts/DataTable';
import { Code, Facets, facetText } from '../parts/Facets';
import { duration, time } from '../parts/format';
import { HealthSection } from '../parts/HealthSection';
import { JobFlow } from '../parts/JobFlow';
import { Chip, DatasetLink, JobLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Answered, Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';
import { loaded } from '../shell/coming';

const Durations = lazy(() => loaded(() => import('../parts/Durations')));

export function Job() {
  const state = useAddressState();
  const id = { namespace: state.get('namespace'), name: state.get('name') };
  const described = useAddress<Described>(marquez.job(id));
  return (
    <Page title={id.name} hint={<bdi className="mono">{id.namespace}</bdi>}>
      <Answered query={described}>
        {(job) => (
          <>
            <dl className="about">
              <dt>Kind</dt><dd>{job.type}</dd>
              {job.parentJobName && <><dt>Part of</dt><dd><JobLink id={{ namespace: id.namespace, name: job.parentJobName }} /></dd></>}
              <dt>First and last seen</dt><dd>{time(job.createdAt)} – {time(job.updatedAt)}</dd>
            </dl>
            <HealthSection asked={{ namespace: id.namespace, job: id.name }} />
            <div className="columns">
              <Datasets title="Reads" ids={job.inputs} />
              <Datasets title="Writes" ids={job.outputs} />
            </div>
            <JobFlow id={id} />
            <Runs id={id} />
            <Sql facets={job.facets} />
            <Section title="Facets"><Facets facets={job.facets} /></Section>
          </>
        )}
      </Answered>
    </Page>
  );
}

export function Datasets({ title, ids }: { title: string; ids: readonly Id[] }) {
  return (
    <Section title={title}>
      {ids.length ? (
        <ul className="plain">{ids.map((id) => <li key={id.namespace + id.name}><DatasetLink id={id} /></li>)}</ul>
      ) : <Empty>Nothing was reported.</Empty>}
    </Section>
  );
}

export function Sql({ facets }: { facets: Described['facets'] }) {
  const sql = facetText(facets, 'sql', 'query');
  return sql ? <Section title="SQL"><Code text={sql} label="SQL" /></Section> : null;
}

function Runs({ id }: { id: Id }) {
  const query = useAddress<Listed>(marquez.runs(id), { limit: 100 });
  return (
    <Section title="Runs">
      <Answered query={query}>
        {(answer) => (
          <>
            {answer.runs.length > 1 && <Suspense fallback={<div className="chart" />}><Durations runs={answer.runs} /></Suspense>}
            <DataTable
              name="runs" rows={answer.runs} total={answer.totalCount} truncated={answer.truncated} empty="No run of it is known."
              columns={[
                { id: 'state', title: 'State', value: stateOf, width: '8rem', show: (row) => <Chip kind={stateOf(row)}>{stateOf(row)}</Chip> },
                { id: 'run', title: 'Run', value: (row) => row.id, width: 'minmax(11rem, 1fr)', show: (row) => <RunLink id={row.id} /> },
                { id: 'started', title: 'Started', value: (row) => time(row.startedAt), width: '11rem' },
                { id: 'ended', title: 'Ended', value: (row) => time(row.endedAt), width: '11rem' },
                { id: 'took', title: 'Took', value: (row) => row.durationMs, width: '8rem', show: (row) => duration(row.durationMs) },
              ]}
            />
          </>
        )}
      </Answered>
    </Section>
  );
}
