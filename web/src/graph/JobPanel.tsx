// Details of the selected job or flow of a job graph.
import { Link } from 'react-router';

import type { Answer } from '../api/client';
import { count } from '../parts/format';
import { useBoxHealth } from '../parts/health';
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
  if (table?.kind === 'table') return <Panel title="Dataset" onClose={onClose}><p className="whole"><DatasetLink id={table} /></p></Panel>;
  if (table) return <Panel title="Job" onClose={onClose}><JobPanel table={table} /></Panel>;
  const edge = picture.edges.find((each) => each.id === id);
  if (!edge) return null;
  const hub = picture.tables.find((each) => each.kind === 'table' && (each.id === edge.from || each.id === edge.to));
  if (hub) return <Panel title="Data flow" onClose={onClose}><p className="whole">Data flows from each writer to each reader of <DatasetLink id={hub} /></p></Panel>;
  return (
    <Panel title={edge.control ? 'Control flow' : 'Data flow'} onClose={onClose}>
      <FlowPanel answer={answer} id={id} many={edge.many} />
    </Panel>
  );
}

function JobPanel({ table }: { table: PictureTable }) {
  const isUnheard = useBoxHealth('job', table).data === null;
  return (
    <>
      <p className="whole"><bdi>{table.name}</bdi></p>
      <p className="whole dim"><bdi>{subtitleOf(table)}</bdi></p>
      <div className="actions">
        {isUnheard ? <p>Other jobs name this job, but it sent no events.</p> : <Link className="button" to={linkTo.job(table)}>Open job</Link>}
        {!table.subject && <Link className="button" to={linkTo.jobGraph(table)}>Neighbouring jobs</Link>}
      </div>
      {!isUnheard && <HealthSection parameters={{ namespace: table.namespace, job: table.name }} />}
    </>
  );
}

function FlowPanel({ answer, id, many }: { answer: Answer<'job-graph'>; id: string; many: number }) {
  const found = rowsOf(answer).find((row) => row.id === id);
  if (!found) return <p>{count(many)} edges drawn as one. Unfold the boxes to see each edge.</p>;
  return (
    <>
      <p className="whole"><JobLink id={found.from} /></p>
      <p className="whole">→ <JobLink id={found.to} /></p>
      {found.flow.kind === 'control' ? <p>The second job waits for the first. {found.what && <bdi className="mono">{found.what}</bdi>}</p> : (
        <>
          <p>{count(found.flow.flow.datasets)} {found.flow.flow.datasets === 1 ? 'dataset' : 'datasets'}{found.flow.flow.datasets > found.flow.flow.first.length && `, the first ${found.flow.flow.first.length}`}:</p>
          <ul className="plain">{found.flow.flow.first.map((each) => <li key={each.namespace + each.dataset}><DatasetLink id={{ namespace: each.namespace, name: each.dataset }} /></li>)}</ul>
        </>
      )}
    </>
  );
}
