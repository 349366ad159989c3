// Makes a picture of many tables readable: stacks siblings, and draws chains as one box.
import { mergeEdges, foldInto } from './collapse';
import type { Picture, PictureEdge, PictureTable } from './picture';
import { shownColumns } from './shape';
import { between, chains, neighbours } from './neighbours';

/** BOXES: the intended maximum number of boxes. STEPS: limits [neighbours per box, depth] that `fold` tries until BOXES is reached. */
const BOXES = 150;
const STEPS = [[20, Infinity], [12, Infinity], [6, Infinity], [3, Infinity], [3, 12], [2, 6], [1, 4], [1, 3], [1, 2]] as const; // prettier-ignore
const MIN_CHAIN = 4;
const STACK_THRESHOLD = 3;
const [DENSE, HEAVIEST] = [4, 1];

export interface Folding {
  /** Ids of tables that are never stacked, and of chains that are open. */
  pinned: ReadonlySet<string>;
  /** Pairs of tables. All tables on paths between the two tables of a pair are folded. */
  between: readonly (readonly [string, string])[];
}

export function fold(picture: Picture, folding: Folding): Picture {
  const base = foldChains(stackIsolated(markWeakEdges(picture), folding.pinned), folding);
  const subject = base.tables.find((table) => table.subject);
  if (!subject) return stackTwins(base, folding.pinned);
  let best = base;
  for (const [keep, depth] of STEPS) {
    best = stackNeighbours(base, subject, folding.pinned, keep, depth);
    if (best.tables.length <= BOXES) break;
  }
  return best;
}

/** If the map is dense, mark all edges of each group except the heaviest as weak, because a map with all edges is unreadable. */
function markWeakEdges(picture: Picture): Picture {
  if (picture.edges.length <= DENSE * picture.tables.length || !picture.tables.some((table) => table.kind === 'group')) return picture;
  const strong = new Set<string>();
  const used = new Map<string, number>();
  for (const edge of [...picture.edges].sort((a, b) => b.many - a.many))
    for (const end of [`out ${edge.from}`, `in ${edge.to}`]) {
      const many = used.get(end) ?? 0;
      if (many < HEAVIEST) strong.add(edge.id);
      used.set(end, many + 1);
    }
  return { ...picture, edges: picture.edges.map((edge) => (strong.has(edge.id) ? edge : { ...edge, weak: true })) };
}

/** Fold chains, and the tables that the user folded between two others. */
function foldChains(picture: Picture, { pinned, between: pairs }: Folding): Picture {
  const neighboursOf = neighbours(picture);
  const stacks: Stack[] = pairs.map(([from, to]) => ({ id: `between:${from}|${to}`, kind: 'chain', members: between(neighboursOf, from, to) }));
  for (const members of chains(picture, neighboursOf, MIN_CHAIN)) stacks.push({ id: `chain:${members[0]}`, kind: 'chain', members });
  return applyStacks(picture, stacks.filter((stack) => !pinned.has(stack.id)));
}

/** Stack the tables without edges. */
function stackIsolated(picture: Picture, pinned: ReadonlySet<string>): Picture {
  const joined = new Set(picture.edges.flatMap((edge) => [edge.from, edge.to]));
  const isIsolated = (table: PictureTable) => !joined.has(table.id) && !table.subject && !table.inside;
  const members = picture.tables.filter((table) => isIsolated(table) && !pinned.has(table.id)).map((table) => table.id);
  // in a truncated picture, edges may lead to tables that are missing, so these tables may have lineage
  const tables = picture.truncated ? picture.tables : picture.tables.map((table) => (isIsolated(table) ? { ...table, isolated: true } : table));
  const marked = { ...picture, tables };
  return members.length > STACK_THRESHOLD ? applyStacks(marked, [{ id: picture.truncated ? 'stack:apart' : 'stack:isolated', kind: 'stack', members }]) : marked;
}

/** Stack tables with the same neighbours on both sides. Used if no table is selected. */
function stackTwins(picture: Picture, pinned: ReadonlySet<string>): Picture {
  const neighboursOf = neighbours(picture);
  const twins = new Map<string, string[]>();
  for (const table of picture.tables) {
    if (table.members || pinned.has(table.id)) continue;
    const { ins, outs } = neighboursOf(table.id);
    const key = JSON.stringify([[...ins].sort(), [...outs].sort()]);
    twins.set(key, [...(twins.get(key) ?? []), table.id]);
  }
  const keep = STEPS[0][0];
  const stacks = [...twins.values()].filter((ids) => ids.length > keep + STACK_THRESHOLD).map((ids): Stack => ({ id: `stack:${ids[0]}`, kind: 'stack', members: ids.slice(keep) }));
  return applyStacks(picture, stacks);
}

interface Stack {
  id: string;
  kind: 'stack' | 'chain';
  members: readonly string[];
}

/** Keep at most `keep` neighbours of each table, away from the subject, up to `depth` steps. Stack the others with all tables behind them. */
function stackNeighbours(picture: Picture, subject: PictureTable, pinned: ReadonlySet<string>, keep: number, depth: number): Picture {
  const neighboursOf = neighbours(picture);
  const tables = new Map(picture.tables.map((table) => [table.id, table]));
  const stackOf = new Map<string, string>();
  const after = new Map<string, string>();
  const seen = new Set([subject.id]);
  const weight = (id: string) => (pinned.has(id) ? 2e9 : 0) + (tables.get(id)?.change ? 1e9 : 0) + neighboursOf(id).ins.size + neighboursOf(id).outs.size;
  for (const side of ['ins', 'outs'] as const) {
    const queue: [string, number][] = [[subject.id, 0]];
    const behind: string[] = [];
    for (const [id, far] of queue) {
      const next = [...neighboursOf(id)[side]].filter((each) => !seen.has(each)).sort((a, b) => weight(b) - weight(a));
      const many = far >= depth ? 0 : next.length > keep + STACK_THRESHOLD ? keep : next.length;
      const middle = next[Math.floor((many - 1) / 2)];
      if (middle && many < next.length) after.set(middle, `stack:${side}:${id}`);
      next.forEach((each, at) => {
        seen.add(each);
        if (at < many || next.length === 1 || pinned.has(each)) queue.push([each, far + 1]);
        else {
          stackOf.set(each, `stack:${side}:${id}`);
          behind.push(each);
        }
      });
    }
    for (const id of behind)
      for (const each of neighboursOf(id)[side])
        if (!seen.has(each)) {
          seen.add(each);
          stackOf.set(each, stackOf.get(id) ?? '');
          behind.push(each);
        }
  }
  const beyond = picture.tables.filter((table) => !seen.has(table.id) && !pinned.has(table.id)); // neither upstream nor downstream of the subject
  if (beyond.length > keep) for (const { id } of beyond) stackOf.set(id, 'stack:beyond');
  return centreStacks(applyStacks(picture, stacksOf(stackOf)), after);
}

/** Move each stack to the middle of its siblings, where it is most visible. The layout keeps this order. */
function centreStacks(picture: Picture, after: ReadonlyMap<string, string>): Picture {
  const stacks = new Map(picture.tables.filter((table) => table.kind === 'stack').map((table) => [table.id, table]));
  const movedStacks = new Set([...after.values()].filter((id) => stacks.has(id)));
  const tables = picture.tables.filter((table) => !movedStacks.has(table.id));
  return { ...picture, tables: tables.flatMap((table) => [table, stacks.get(after.get(table.id) ?? '') ?? []].flat()) };
}

function stacksOf(stackOf: ReadonlyMap<string, string>): Stack[] {
  const members = new Map<string, string[]>();
  for (const [id, stack] of stackOf) members.set(stack, [...(members.get(stack) ?? []), id]);
  return [...members].map(([id, ids]) => ({ id, kind: 'stack', members: ids }));
}

/** Replace the members of each stack by one box. */
function applyStacks(picture: Picture, stacks: readonly Stack[]): Picture {
  const place = new Map<string, string>();
  for (const stack of stacks) for (const id of stack.members) if (!place.has(id)) place.set(id, stack.id);
  if (!place.size) return picture;
  const members = new Map<string, PictureTable[]>();
  const tables = new Map<string, PictureTable>();
  const known = new Map(stacks.map((stack) => [stack.id, stack]));
  for (const table of picture.tables) {
    const stack = known.get(place.get(table.id) ?? '');
    if (!stack) tables.set(table.id, table);
    else {
      const inside = members.get(stack.id) ?? [];
      inside.push(...(table.members ?? [table]));
      members.set(stack.id, inside);
      tables.set(stack.id, stackTable(stack, table, inside));
    }
  }
  return { ...picture, tables: [...tables.values()], edges: foldInto(picture.edges, place, tables) };
}

function stackTable({ id, kind }: Stack, first: PictureTable, members: readonly PictureTable[]): PictureTable {
  return {
    id, kind, members, namespace: first.namespace, name: '', columns: [], more: 0, distance: first.distance,
    moreUp: 0, moreDown: 0, columnLineage: true, subject: false, isolated: id === 'stack:isolated',
  }; // prettier-ignore
}

/** Merge the edges of columns without a visible row, because these edges end at the same row of their table. */
export function foldRows(picture: Picture, opened: ReadonlySet<string>): Picture {
  const rows = new Map(picture.tables.map((table) => [table.id, new Set(shownColumns(table, opened.has(table.id)).map((column) => column.name))]));
  const end = (id: string, column: string | undefined) => [id, column === undefined || rows.get(id)?.has(column) ? column : null];
  const found = new Map<string, PictureEdge>();
  for (const edge of picture.edges) {
    const ends = JSON.stringify([end(edge.from, edge.fromColumn), end(edge.to, edge.toColumn), edge.control ?? false]);
    const known = found.get(ends);
    found.set(ends, known ? mergeEdges(known, edge) : edge);
  }
  return { ...picture, edges: [...found.values()] };
}
