// Neighbours, degrees, paths and chains in a picture.
import type { Picture } from './picture';

interface NeighbourIds {
  ins: ReadonlySet<string>;
  outs: ReadonlySet<string>;
}
export type Neighbours = (id: string) => NeighbourIds;

const NONE: NeighbourIds = { ins: new Set(), outs: new Set() };

/** Return a function that looks up the neighbours of a box. It ignores loops. */
export function neighbours({ edges }: Picture): Neighbours {
  const found = new Map<string, { ins: Set<string>; outs: Set<string> }>();
  const of = (id: string) => {
    const known = found.get(id) ?? { ins: new Set(), outs: new Set() };
    found.set(id, known);
    return known;
  };
  for (const { from, to } of edges) {
    if (from === to) continue;
    of(from).outs.add(to);
    of(to).ins.add(from);
  }
  return (id) => found.get(id) ?? NONE;
}

/** Count the tables with edges into each box and out of each box. Of a stack, only the members with such an edge count. */
export function degreesOf({ tables, edges }: Picture): [ins: Map<string, number>, outs: Map<string, number>] {
  const sizes = new Map(tables.map((table) => [table.id, table.members?.length ?? 1]));
  const between = new Map<string, { from: string; to: string; many: number }>();
  for (const { from, to, many } of edges) {
    const pair = JSON.stringify([from, to]);
    if (from !== to) between.set(pair, { from, to, many: (between.get(pair)?.many ?? 0) + many });
  }
  const [ins, outs] = [new Map<string, number>(), new Map<string, number>()];
  for (const { from, to, many } of between.values()) {
    outs.set(from, (outs.get(from) ?? 0) + Math.min(many, sizes.get(to) ?? 0));
    ins.set(to, (ins.get(to) ?? 0) + Math.min(many, sizes.get(from) ?? 0));
  }
  return [ins, outs];
}

/** List the boxes on all paths between two boxes, in either direction, without the two boxes themselves. */
export function between(neighboursOf: Neighbours, one: string, other: string): string[] {
  for (const [from, to] of [[one, other], [other, one]] as const) {
    const [after, before] = [reachable(neighboursOf, from, 'outs'), reachable(neighboursOf, to, 'ins')];
    if (after.has(to)) return [...after].filter((id) => before.has(id) && id !== from && id !== to);
  }
  return [];
}

function reachable(neighboursOf: Neighbours, start: string, side: 'ins' | 'outs'): Set<string> {
  const seen = new Set<string>();
  const queue = [start];
  for (const id of queue)
    for (const next of neighboursOf(id)[side])
      if (!seen.has(next)) {
        seen.add(next);
        queue.push(next);
      }
  return seen;
}

/** List the chains. A chain has at least `least` consecutive tables with one incoming and one outgoing edge, none next to the subject. */
export function chains(picture: Picture, neighboursOf: Neighbours, least: number): string[][] {
  const subjects = new Set(picture.tables.filter((table) => table.subject).map((table) => table.id));
  const inRow = new Set(picture.tables.filter((table) => {
    const { ins, outs } = neighboursOf(table.id);
    return ins.size === 1 && outs.size === 1 && ![table.id, ...ins, ...outs].some((id) => subjects.has(id));
  }).map((table) => table.id)); // prettier-ignore
  const seen = new Set<string>();
  return [...inRow].flatMap((id) => {
    if (seen.has(id)) return [];
    let start = id;
    for (let before = only(neighboursOf(start).ins); inRow.has(before) && before !== id; before = only(neighboursOf(start).ins)) start = before;
    const row: string[] = [];
    for (let next = start; inRow.has(next) && !seen.has(next); next = only(neighboursOf(next).outs)) {
      seen.add(next);
      row.push(next);
    }
    return row.length >= least ? [row] : [];
  });
}

const only = (ids: ReadonlySet<string>): string => [...ids][0] ?? '';
