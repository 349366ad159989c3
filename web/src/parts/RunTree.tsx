// The parents and children of a run as a tree. Opening a branch loads its children, a page at a time.
import { useState } from 'react';

import { part, type Schemas } from '../api/client';
import { useAddress } from '../api/hooks';
import { count, duration, time } from './format';
import { Chip, JobLink, RunLink } from './Names';
import { Section } from './Page';
import { Answered } from './States';

type Node = Schemas['HierarchyRun'];
type Found = Schemas['Hierarchy'];

const AT_ONCE = 50;

const useHierarchy = (id: string, limit: number) =>
  useAddress<Found>(`/api/headwater/v1/runs/${part(id)}/hierarchy`, { limit });

/** The tree around a run; empty if the run has no parent and no children. */
export function RunTree({ id, title = 'Hierarchy' }: { id: string; title?: string }) {
  const found = useHierarchy(id, AT_ONCE);
  if (found.data && !found.data.ancestors.length && !found.data.totalCount) return null;
  return (
    <Section title={title}>
      <Answered query={found}>
        {(answer) => <div className="tree"><Above ancestors={answer.ancestors} run={answer.run} /></div>}
      </Answered>
    </Section>
  );
}

function Above({ ancestors, run }: { ancestors: readonly Node[]; run: Node }) {
  const [first, ...rest] = ancestors;
  if (!first) return <ul><li><Line node={run} here /><Below id={run.id} /></li></ul>;
  return <ul><li><Line node={first} /><Above ancestors={rest} run={run} /></li></ul>;
}

function Below({ id }: { id: string }) {
  const [limit, setLimit] = useState(AT_ONCE);
  const found = useHierarchy(id, limit);
  return (
    <Answered query={found}>
      {({ items, states, totalCount, truncated }) => totalCount === 0 ? null : (
        <>
          <p className="dim">
            {count(totalCount)} {totalCount === 1 ? 'child' : 'children'}: {Object.entries(states).map(([state, many]) => `${count(many)} ${state}`).join(', ')}
          </p>
          <ul>{items.map((node) => <Branch key={node.id} node={node} />)}</ul>
          {truncated && limit < 1_000 && <button type="button" onClick={() => setLimit(Math.min(1_000, limit * 4))}>Show more of {count(totalCount)}</button>}
          {truncated && limit >= 1_000 && <p className="dim">The oldest {count(items.length)} of {count(totalCount)} are shown.</p>}
        </>
      )}
    </Answered>
  );
}

function Branch({ node }: { node: Node }) {
  const [open, setOpen] = useState(false);
  const parts = `${count(node.children)} ${node.children === 1 ? 'child' : 'children'}`;
  return (
    <li>
      <Line node={node} />{' '}
      {node.children > 0 && <button type="button" className="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? 'Hide' : 'Show'} {parts}</button>}
      {open && <Below id={node.id} />}
    </li>
  );
}

function Line({ node, here = false }: { node: Node; here?: boolean }) {
  return (
    <span aria-current={here || undefined} className={here ? 'here' : undefined}>
      <Chip kind={node.state}>{node.state}</Chip> {node.job && <><JobLink id={node.job} />{' '}</>}
      {node.state === 'UNREPORTED' ? <bdi className="mono dim" title="Other runs name this run as their parent, but it sent no events.">{node.id}</bdi> : <RunLink id={node.id} />}{' '}
      <span className="dim">{time(node.started)} {duration(node.durationMs)}</span>
    </span>
  );
}
