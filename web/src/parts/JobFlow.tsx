// The jobs directly upstream and downstream of a job, by data flow and by control flow.
import { Link } from 'react-router';

import { useQuestion } from '../api/hooks';
import type { Answer } from '../api/client';
import type { Id } from '../api/marquez';
import { DataTable } from './DataTable';
import { flowsOf, flowWords, type Flow } from './flows';
import { useGranularity } from './granularity';
import { GranularitySwitch } from './GranularitySwitch';
import { count } from './format';
import { Chip, JobLink } from './Names';
import { Section } from './Page';
import { to } from './links';
import { Answered } from './States';

interface Step {
  side: 'upstream' | 'downstream';
  how: Flow['kind'];
  job: Answer<'job-graph'>['nodes'][number];
  what: string;
}

export function JobFlow({ id }: { id: Id }) {
  const [granularity] = useGranularity('application');
  const found = useQuestion('job-graph', { namespace: id.namespace, job: id.name, granularity, up: 1, down: 1, limit: 500 });
  return (
    <Section title="Upstream and downstream jobs" tools={<><GranularitySwitch defaultValue="application" /> <Link className="button" to={to.jobGraph(id, { granularity: granularity === 'application' ? '' : granularity })}>Graph</Link></>}>
      <Answered query={found}>
        {(answer) => {
          const here = answer.nodes.find((node) => node.distance === 0);
          return (
            <>
              {here && <p>As <Chip kind="level">{here.level}</Chip> <JobLink id={here} />{here.jobs > 1 && <span className="dim"> with {count(here.jobs)} jobs</span>}</p>}
              <DataTable
                name="flow" rows={stepsOf(answer)} truncated={answer.truncated} empty="No data flow or control flow connects this job with other jobs."
                columns={[
                  { id: 'side', title: 'Direction', value: (row) => row.side, width: '8rem' },
                  { id: 'how', title: 'Flow', value: (row) => row.how, width: '7rem', show: (row) => <Chip kind={row.how}>{row.how}</Chip> },
                  { id: 'job', title: 'Job', value: (row) => row.job.name, width: 'minmax(12rem, 2fr)', show: (row) => <JobLink id={row.job} /> },
                  { id: 'level', title: 'Level', value: (row) => row.job.level, width: '8rem' },
                  { id: 'what', title: 'Datasets or condition', value: (row) => row.what, width: 'minmax(12rem, 3fr)' },
                ]}
              />
            </>
          );
        }}
      </Answered>
    </Section>
  );
}

/** List the flows to and from the selected job, data flows first. */
export function stepsOf(answer: Answer<'job-graph'>): Step[] {
  const here = answer.nodes.findIndex((node) => node.distance === 0);
  return flowsOf(answer).flatMap((each): Step[] => {
    const { from, to: into } = each.flow;
    const job = answer.nodes[into === here ? from : into];
    if (!job || (from !== here && into !== here)) return [];
    return [{ side: into === here ? 'upstream' : 'downstream', how: each.kind, job, what: flowWords(each) }];
  });
}
