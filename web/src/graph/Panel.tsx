// Details of the selected table, column or edge, and actions on it.
import type { ReactNode } from 'react';
import { Link } from 'react-router';

import type { Schemas } from '../api/client';
import { useAddress, useQuestion } from '../api/hooks';
import { marquez, type Dataset } from '../api/marquez';
import { Badge, IconButton } from '../design/components';
import { DataTable } from '../parts/DataTable';
import { Derivation } from '../parts/Derivation';
import { Code } from '../parts/Facets';
import { count, time } from '../parts/format';
import { to } from '../parts/links';
import { useGranularity } from '../parts/granularity';
import { HealthSection } from '../parts/HealthSection';
import { DatasetLink, JobLink, RunLink } from '../parts/Names';
import { testsOf } from '../parts/qualityTests';
import { statisticsText } from '../parts/RunDetails';
import { Answered } from '../parts/States';
import type { PictureEdge, PictureTable } from './picture';
import { stopSentences } from './stops';
import { headingOf, subtitleOf } from './words';

export function Panel({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  return (
    <aside className="panel" aria-label={title}>
      <div className="section-head">
        <h2>{title}</h2>
        <IconButton icon="close" label="Close the panel" onClick={onClose} />
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
  /** The button that folds the tables between this table and another table. */
  between: ReactNode;
}

export function TablePanel({ table, folded, onFold, onFocus, onPath, between }: TableProps) {
  return (
    <>
      <p className="whole"><bdi>{table.name}</bdi></p>
      <p className="whole dim"><bdi>{table.namespace}</bdi></p>
      <div className="actions">
        <Link className="button primary" to={to.dataset(table)}>Open dataset</Link>
        {!table.subject && <button type="button" onClick={onFocus}>Show its lineage</button>}
        {onPath && <button type="button" onClick={onPath}>Find path to it</button>}
        <button type="button" onClick={() => onFold('up')} aria-pressed={folded('up')}>Fold upstream</button>
        <button type="button" onClick={() => onFold('down')} aria-pressed={folded('down')}>Fold downstream</button>
        {between}
      </div>
      {table.kind === 'table' && <Stops table={table} />}
      {table.kind === 'table' && <TableFacts table={table} />}
      {table.kind === 'table' && <HealthSection parameters={{ namespace: table.namespace, dataset: table.name }} />}
    </>
  );
}

/** The tests of a table, and links to the next questions about it. */
function TableFacts({ table }: { table: PictureTable }) {
  const described = useAddress<Dataset>(marquez.dataset(table));
  const tests = testsOf(described.data?.facets ?? {});
  const failed = tests.filter((each) => !each.passed).length;
  const parameters = { namespace: table.namespace, dataset: table.name };
  return (
    <>
      <p className="badges">
        <span className="dim">Tests:</span> {tests.length ? <Badge icon="test" tone={failed ? 'bad' : 'good'}>{failed ? `${count(failed)} of ${count(tests.length)} failed` : `${count(tests.length)} passed`}</Badge> : <span className="dim">none reported</span>}
      </p>
      <h3>Next questions</h3>
      <ul className="plain">
        <li><Link to={`${to.dataset(table)}#readers`}>Who reads it?</Link></li>
        <li><Link to={to.unused(parameters, 'unused')}>Which columns can be dropped?</Link></li>
        <li><Link to={`${to.dataset(table)}#changes`}>What changed?</Link></li>
      </ul>
    </>
  );
}

/** Shows the reasons why lineage stops at a table, upstream or downstream. */
function Stops({ table }: { table: PictureTable }) {
  const parameters = { namespace: table.namespace, dataset: table.name, depth: 1, limit: 1 };
  const [upstream, impact] = [useQuestion('upstream', parameters), useQuestion('impact', parameters)];
  const stops = [...(upstream.data?.stops ?? []), ...(impact.data?.stops ?? [])];
  const sentences = stopSentences(stops.filter((stop) => stop.namespace === table.namespace && stop.dataset === table.name && stop.reason !== 'no_columns'));
  return sentences.length > 0 && <p>{sentences.join(' ')}</p>;
}

/** The members of a stack or a chain, as a table with a filter. */
export function FoldedPanel({ table, onPin }: { table: PictureTable; onPin: (id: string) => void }) {
  const members = table.members ?? [];
  return (
    <>
      <p>{table.isolated && members[0]?.kind !== 'job' ? 'No lineage was reported for these tables, neither upstream nor downstream.' : subtitleOf(table)}</p>
      {table.kind === 'chain' && <p className="actions"><button type="button" onClick={() => onPin(table.id)}>Show all {count(members.length)} steps</button></p>}
      <DataTable<PictureTable>
        name="folded" rows={members} empty="The stack is empty."
        columns={[
          { id: 'name', title: members[0]?.kind === 'job' ? 'Job' : 'Table', value: (row) => row.name || row.namespace, width: 'minmax(9rem, 3fr)',
            show: (row) => <Link className="name" title={`${row.namespace}/${row.name}`} to={row.kind === 'job' ? to.job(row) : to.lineage({ namespace: row.namespace, dataset: row.name })}><bdi>{headingOf(row)}</bdi></Link> },
          { id: 'draw', title: 'Show', value: () => '', width: '4.5rem', show: (row) => <button type="button" className="link" onClick={() => onPin(row.id)} aria-label={`Show ${row.name}`}>show</button> },
        ]}
      />
    </>
  );
}

/** How a column is computed, its owner and tests, where it is readable, whether it can be dropped, and links to the next questions. */
export function ColumnPanel({ table, column, lens }: { table: PictureTable; column: string; lens: Readonly<Record<string, string>> }) {
  const parameters = { namespace: table.namespace, dataset: table.name, column };
  const surface = useQuestion('surface', { ...parameters, ...lens, limit: 1 });
  const impact = useQuestion('impact', { ...parameters, ...lens, mode: 'any', limit: 1_000 });
  return (
    <>
      <p className="whole strong"><bdi className="mono">{column}</bdi> <span className="dim">in</span> <DatasetLink id={{ namespace: table.namespace, name: table.name, display_name: table.display }} /></p>
      <ColumnFacts table={table} column={column} />
      <h3>How is it computed?</h3>
      <Derivation column={parameters} lens={lens} />
      <h3>Where can it be read in clear?</h3>
      <Answered query={surface}>
        {({ exposures: { exposed, unknown, masked } }) => (
          <p>
            {exposed ? `${count(exposed)} more ${exposed === 1 ? 'column contains' : 'columns contain'} its unmasked values.` : unknown ? 'Not proven.' : 'Only here: it is masked in all downstream columns.'} {count(masked)} masked, {count(unknown)} not proven.{' '}
            <Link to={to.surface(parameters)}>List columns</Link>
          </p>
        )}
      </Answered>
      <h3>What breaks if I drop it?</h3>
      <Answered query={impact}>
        {({ columns, stops, truncated }) => (
          <p>
            {columns.length ? `${count(columns.length)}${truncated ? ' or more' : ''} columns of ${count(new Set(columns.map((each) => `${each.namespace}/${each.dataset}`)).size)} tables depend on it: they contain its values, or are filtered, joined or grouped by it.` : 'No reported column depends on it.'}
            {' '}{stopSentences(stops).join(' ')}{' '}
            <Link to={to.impact(parameters)}>Show downstream</Link>
          </p>
        )}
      </Answered>
      <div className="actions"><Link className="button primary" to={to.column(parameters)}>All answers about this column</Link></div>
    </>
  );
}

/** The type, description and tests of a column, and the owners of its table. */
function ColumnFacts({ table, column }: { table: PictureTable; column: string }) {
  const described = useAddress<Dataset>(marquez.dataset(table));
  const health = useQuestion('health', { namespace: table.namespace, dataset: table.name, limit: 1 });
  const isThis = (name: string) => name.toLowerCase() === column.toLowerCase();
  const field = described.data?.fields.find((each) => isThis(each.name));
  const tests = testsOf(described.data?.facets ?? {}).filter((each) => isThis(each.column));
  const owners = health.data?.about?.owners ?? [];
  return (
    <>
      {field?.description && <p><bdi>{field.description}</bdi></p>}
      <p className="badges">
        {field?.type && <Badge>{field.type}</Badge>}
        {field?.tags.map((tag) => <Badge key={tag} icon="tag" tone="accent">{tag}</Badge>)}
        {owners.length ? owners.map((owner) => <Badge key={owner.name} icon="owner">{owner.name}</Badge>) : <span className="dim">no owner</span>}
        {tests.length ? tests.map((each) => <Badge key={each.name} icon="test" tone={each.passed ? 'good' : 'bad'} title={each.name}>{`${each.name} ${each.passed ? 'passed' : 'failed'}`}</Badge>) : <span className="dim">no tests</span>}
      </p>
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
  const parameters = {
    fromNamespace: from.namespace, fromDataset: from.name, fromColumn: edge.fromColumn,
    toNamespace: into.namespace, toDataset: into.name, toColumn: edge.toColumn, ...lens,
  }; // prettier-ignore
  const why = useQuestion('edge', parameters, { enabled: between });
  return (
    <>
      <p className="whole"><DatasetLink id={from} /> {edge.fromColumn && <bdi className="mono">{edge.fromColumn}</bdi>}</p>
      <p className="whole">→ <DatasetLink id={into} /> {edge.toColumn && <bdi className="mono">{edge.toColumn}</bdi>}</p>
      {edge.many > 1 && <p>{count(edge.many)} edges drawn as one. Open the groups or tables to see each edge.</p>}
      {edge.opaque && <p className="dim">The job reports only the datasets that it read and wrote, not their columns.</p>}
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
      {item.written && <p className="dim">Last run wrote: {statisticsText(item.written) || 'no counts reported'}</p>}
      {item.sql && <details open><summary>SQL</summary><Code text={item.sql} label="SQL" /></details>}
    </div>
  );
}
