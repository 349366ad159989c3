// What is known of the chosen job or flow of a graph of jobs.
import { Link } from 'react-router';

import type { Answer } from '../api/client';
import { count } from '../parts/format';
import { useFaring } from '../parts/health';
import { HealthSection } from '../parts/HealthSection';
import { to as linkTo } from '../parts/links';
import { DatasetLink, JobLink } from '../parts/Names';
import { rowsOf } from './FlowList';
import { FoldedPanel, Panel } from './Panel';
import type { Picture, PictureTable } from './picture';
import { headingOf, subtitleOf } from './words';

interface ChosenProps {
  id: string;
  picture: Picture;
  answer: Answer<'job-graph'>;
  onPin: (id: string) => void;
  onClose: () => void;
}

export function ChosenJob({ id, picture, answer, onPin, onClose }: ChosenProps) {
  const table = picture.tables.find((each) => each.id === id);
  if (table?.members) return <Panel title={headingOf(table)} onClose={onClose}><FoldedPanel table={table} onPin={onPin} /></Panel>;
  if (table) return <Panel title="Job" onClose={onClose}><JobPanel table={table} /></Panel>;
  const edge = picture.edges.find((each) => each.id === id);
  if (!edge) return null;
  return (
    <Panel title={edge.control ? 'Control flow' : 'Data flow'} onClose={onClose}>
      <FlowPanel answer={answer} id={id} many={edge.many} />
    </Panel>
  );
}

function JobPanel({ table }: { table: PictureTable }) {
  const isUnheard = useFaring('job', table).data === null;
  return (
    <>
      <p className="whole"><bdi>{table.name}</bdi></p>
      <p className="whole dim"><bdi>{subtitleOf(table)}</bdi></p>
      <div className="actions">
        {isUnheard ? <p>Others name it; it sent no event itself.</p> : <Link className="button" to={linkTo.job(table)}>Open the job</Link>}
        {!table.subject && <Link className="button" to={linkTo.jobGraph(table)}>Jobs around it</Link>}
      </div>
      {!isUnheard && <HealthSection asked={{ namespace: table.namespace, job: table.name }} />}
    </>
  );
}

function FlowPanel({ answer, id, many }: { answer: Answer<'job-graph'>; id: string; many: number }) {
  const found = rowsOf(answer).find((row) => row.id === id);
  if (!found) return <p>{count(many)} edges, drawn as one: draw what is folded to see them apart.</p>;
  return (
    <>
      <p className="whole"><JobLink id={found.from} /></p>
      <p className="whole">→ <JobLink id={found.to} /></p>
      {found.flow.kind === 'control' ? <p>The second waits for the first. {found.what && <bdi className="mono">{found.what}</bdi>}</p> : (
        <>
          <p>{count(found.flow.flow.datasets)} {found.flow.flow.datasets === 1 ? 'dataset passes' : 'datasets pass'}{found.flow.flow.datasets > found.flow.flow.first.length && ', the first of them'}:</p>
          <ul className="plain">{found.flow.flow.first.map((each) => <li key={each.namespace + each.dataset}><DatasetLink id={{ namespace: each.namespace, name: each.dataset }} /></li>)}</ul>
        </>
      )}
    </>
  );
}
