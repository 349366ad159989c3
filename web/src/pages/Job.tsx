// One job: its runs, the datasets it reads and writes, its SQL and facets.
import { lazy, Suspense } from 'react';

import { useAddress } from '../api/hooks';
import { marquez, type Id, type Job as Described } from '../api/marquez';
import { Code, Facets, facetText } from '../parts/Facets';
import { time } from '../parts/format';
import { HealthSection } from '../parts/HealthSection';
import { JobFlow } from '../parts/JobFlow';
import { DatasetLink, JobLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Answered, Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';
import { loadWithRetry } from '../shell/codeLoading';
import { RunList } from './Runs';

const DRAWN = 100;

const Durations = lazy(() => loadWithRetry(() => import('../parts/Durations')));

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
            <HealthSection parameters={{ namespace: id.namespace, job: id.name }} />
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
      ) : <Empty>No datasets were reported.</Empty>}
    </Section>
  );
}

export function Sql({ facets }: { facets: Described['facets'] }) {
  const sql = facetText(facets, 'sql', 'query');
  return sql ? <Section title="SQL"><Code text={sql} label="SQL" /></Section> : null;
}

function Runs({ id }: { id: Id }) {
  return (
    <Section title="Runs">
      <RunList parameters={{ namespace: id.namespace, job: id.name }} ofOneJob prefix="runs-" empty="No run of this job has been reported.">
        {(runs) => runs.length > 1 && <Suspense fallback={<div className="chart" />}><Durations runs={runs.slice(0, DRAWN)} /></Suspense>}
      </RunList>
    </Section>
  );
}
