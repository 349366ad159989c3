// What is known of the chosen table or edge, and what can be done with it.
import type { ReactNode } from 'react';
import { Link } from 'react-router';

import type { Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { Code } from '../parts/Facets';
import { count, time } from '../parts/format';
import { to } from '../parts/links';
import { useGranularity } from '../parts/granularity';
import { HealthSection } from '../parts/HealthSection';
import { DatasetLink, JobLink, RunLink } from '../parts/Names';
import { moved } from '../parts/RunDetails';
import { Answered } from '../parts/States';
import type { PictureEdge, PictureTable } from './picture';

export function Panel({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  return (
    <aside className="panel" aria-label={title}>
      <div className="section-head">
        <h2>{title}</h2>
        <button type="button" className="quiet" onClick={onClose} aria-label="Close the panel">✕</button>
      </div>
      {children}
    </aside>
  );
}

interface TableProps {
  table: PictureTable;
  folded: (side: 'up' | 'down') => boolean;
  onFold: (side: 'up' | 'down') => void;
  onFocus: () => void;
  onPath: (() => void) | undefined;
}

export function TablePanel({ table, folded, onFold, onFocus, onPath }: TableProps) {
  return (
    <>
      <p className="whole"><bdi>{table.name}</bdi></p>
      <p className="whole dim"><bdi>{table.namespace}</bdi></p>
      <div className="actions">
        <Link className="button" to={to.dataset(table)}>Open the dataset</Link>
        {!table.subject && <button type="button" onClick={onFocus}>Lineage of it</button>}
        {onPath && <button type="button" onClick={onPath}>Way from the asked one to it</button>}
        <button type="button" onClick={() => onFold('up')} aria-pressed={folded('up')}>Fold what feeds it</button>
        <button type="button" onClick={() => onFold('down')} aria-pressed={folded('down')}>Fold what it feeds</button>
      </div>
      {table.kind === 'table' && <HealthSection asked={{ namespace: table.namespace, dataset: table.name }} />}
    </>
  );
}

interface EdgeProps {
  edge: PictureEdge;
  from: PictureTable;
  to: PictureTable;
  lens: Readonly<Record<string, string>>;
}

export function EdgePanel({ edge, from, to: into, lens }: EdgeProps) {
  const [granularity] = useGranularity();
  const between = from.kind === 'table' && into.kind === 'table';
  const asked = {
    fromNamespace: from.namespace, fromDataset: from.name, fromColumn: edge.fromColumn,
    toNamespace: into.namespace, toDataset: into.name, toColumn: edge.toColumn, ...lens,
  }; // prettier-ignore
  const why = useQuestion('edge', asked, { enabled: between });
  return (
    <>
      <p className="whole"><DatasetLink id={from} /> {edge.fromColumn && <bdi className="mono">{edge.fromColumn}</bdi>}</p>
      <p className="whole">→ <DatasetLink id={into} /> {edge.toColumn && <bdi className="mono">{edge.toColumn}</bdi>}</p>
      {edge.many > 1 && <p>{count(edge.many)} edges between tables of these groups. Open a group to see them.</p>}
      {edge.opaque && <p className="dim">The job reports which datasets it read and wrote, not which columns.</p>}
      {granularity !== 'statement' && edge.jobs.length > 0 && <p>By {edge.jobs.map((job) => <span key={job.namespace + job.name}><JobLink id={job} />{' '}</span>)}</p>}
      {between && <Answered query={why}>{(answer) => <>{answer.items.map((item) => <Reason key={item.job.namespace + item.job.name + item.origin} item={item} />)}</>}</Answered>}
    </>
  );
}

function Reason({ item }: { item: Schemas['EdgeReason'] }) {
  return (
    <div className="reason">
      <p><JobLink id={item.job} /></p>
      <ul className="plain">
        {item.transformations.map((each, at) => (
          <li key={at}>
            <span className="chip">{each.type}</span> {each.subtype && <span className="chip">{each.subtype}</span>} {each.masking && <span className="chip is-masked">masks</span>}{' '}
            <bdi>{each.description}</bdi>
          </li>
        ))}
      </ul>
      <p className="dim">
        {count(item.runs)} {item.runs === 1 ? 'run' : 'runs'}, {time(item.first_seen)} – {time(item.last_seen)}, {item.origin}
        {item.landed ? ', rows landed' : ''} {item.newest_run && <RunLink id={item.newest_run} />}
      </p>
      {item.written && <p className="dim">Last run wrote {moved(item.written) || 'it counted nothing'}</p>}
      {item.sql && <details open><summary>SQL</summary><Code text={item.sql} label="SQL" /></details>}
    </div>
  );
}
