// One run: state, errors, SQL, the runs whose data it read, the runs that read its data, and facets.
import { Link } from 'react-router';

import { part, queryText, type Schemas } from '../api/client';
import { useAddress } from '../api/hooks';
import { marquez, type Run as Described, type RunFacets } from '../api/marquez';
import { Code, Facets } from '../parts/Facets';
import { count, duration, time } from '../parts/format';
import { AboutList, NotRefreshed } from '../parts/HealthSection';
import { Chip, DatasetLink, JobLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { RunDetails } from '../parts/RunDetails';
import { RunTree } from '../parts/RunTree';
import { Answered, Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';
import { Failures } from './Failures';

type RunLineage = Schemas['RunLineage'];

export function Run() {
  const id = useAddressState().get('id');
  const lineage = useAddress<RunLineage>(`/api/headwater/v1/runs/${part(id)}/lineage`);
  return (
    <Page title={`Run ${id}`} tools={<Link className="button" to={`/events${queryText({ run: id })}`}>Events</Link>}>
      <Answered query={lineage}>
        {({ run, errors, failed_tests, sql, about, not_refreshed, reads, writes }) => (
          <>
            <dl className="about">
              <dt>State</dt><dd><Chip kind={run.state}>{run.state}</Chip></dd>
              <dt>Job</dt><dd><JobLink id={run.job} /></dd>
              <dt>Started and ended</dt><dd>{time(run.started)} – {time(run.ended)} {took(run.started, run.ended)}</dd>
            </dl>
            <AboutList about={about} />
            <Failures errors={errors} tests={failed_tests} />
            {not_refreshed.length > 0 && <Section title="Not refreshed downstream"><NotRefreshed rows={not_refreshed} /></Section>}
            {sql && <Section title="SQL"><Code text={sql} label="SQL" /></Section>}
            <RunDetails id={id} />
            <div className="columns">
              <Section title="Reads">
                {reads.length ? (
                  <ul className="plain">
                    {reads.map((each) => (
                      <li key={`${each.namespace}/${each.dataset} ${each.files ?? ''}`}>
                        {each.files ? <bdi title={`${each.namespace}/${each.dataset}`}>{each.dataset} ({count(each.files)} files)</bdi>
                          : <DatasetLink id={{ namespace: each.namespace, name: each.dataset, display_name: each.display_name }} />}
                        {each.written_by && <> written by <JobLink id={each.written_by.job} /> <RunLink id={each.written_by.id} /></>}
                      </li>
                    ))}
                  </ul>
                ) : <Empty>No datasets were reported.</Empty>}
              </Section>
              <Section title="Writes">
                {writes.length ? (
                  <ul className="plain">
                    {writes.map((each) => (
                      <li key={`${each.namespace}/${each.dataset} ${each.files ?? ''}`}>
                        {each.files ? <bdi title={`${each.namespace}/${each.dataset}`}>{each.dataset} ({count(each.files)} files)</bdi>
                          : <DatasetLink id={{ namespace: each.namespace, name: each.dataset, display_name: each.display_name }} />}
                        {each.unread && <div className="sub">Unparsed SQL: {each.unread}</div>}
                        {each.read_by.map((other) => <div key={other.id} className="sub">read by <JobLink id={other.job} /> <RunLink id={other.id} /></div>)}
                      </li>
                    ))}
                  </ul>
                ) : <Empty>No datasets were reported.</Empty>}
              </Section>
            </div>
            <RunTree id={id} />
            <FacetSections id={id} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function took(started: string | null, ended: string | null): string {
  const milliseconds = started && ended ? new Date(ended).getTime() - new Date(started).getTime() : 0;
  return milliseconds > 0 ? `(${duration(milliseconds)})` : '';
}

/** The facets of the run and of its job. */
function FacetSections({ id }: { id: string }) {
  const run = useAddress<Described>(marquez.run(id));
  const job = useAddress<RunFacets>(`${marquez.run(id)}/facets`, { type: 'job' });
  return (
    <>
      <Section title="Run facets"><Answered query={run}>{(found) => <Facets facets={found.facets ?? {}} />}</Answered></Section>
      <Section title="Job facets"><Answered query={job}>{(found) => <Facets facets={found.facets} />}</Answered></Section>
    </>
  );
}
