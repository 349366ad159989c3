// A picture of many tables made readable: siblings are stacked, chains drawn as one step, and what is folded says how many.
import { added, foldInto } from './collapse';
import type { Picture, PictureEdge, PictureTable } from './picture';
import { shownColumns } from './shape';
import { between, chains, neighbours } from './ways';

/** How many boxes are drawn at most, if stacks can do it; and the ever smaller stacks and depths that are tried. */
const BOXES = 150;
const STEPS = [[20, Infinity], [12, Infinity], [6, Infinity], [3, Infinity], [3, 12], [2, 6], [1, 4], [1, 3], [1, 2]] as const; // prettier-ignore
const CHAIN = 4;
const ALONE = 3;
const [DENSE, HEAVIEST] = [4, 1];

export interface Folding {
  /** What is drawn although it would be stacked; ids of tables, or of chains that are open. */
  pinned: ReadonlySet<string>;
  /** Pairs of tables: what lies between them is folded. */
  between: readonly (readonly [string, string])[];
}

export function fold(picture: Picture, folding: Folding): Picture {
  const alone = withWays(withAlone(thinned(picture), folding.pinned), folding);
  const subject = alone.tables.find((table) => table.subject);
  if (!subject) return withTwins(alone, folding.pinned);
  let best = alone;
  for (const [keep, depth] of STEPS) {
    best = withStacks(alone, subject, folding.pinned, keep, depth);
    if (best.tables.length <= BOXES) break;
  }
  return best;
}

/** Between groups that are joined to most others the heaviest edges of each say more than all of them. */
function thinned(picture: Picture): Picture {
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

/** Chains, and what the user has folded between two tables. */
function withWays(picture: Picture, { pinned, between: pairs }: Folding): Picture {
  const beside = neighbours(picture);
  const stacks: Stack[] = pairs.map(([from, to]) => ({ id: `between:${from}|${to}`, kind: 'chain', members: between(beside, from, to) }));
  for (const members of chains(picture, beside, CHAIN)) stacks.push({ id: `chain:${members[0]}`, kind: 'chain', members });
  return gathered(picture, stacks.filter((stack) => !pinned.has(stack.id)));
}

/** What no edge of this picture leads to. */
function withAlone(picture: Picture, pinned: ReadonlySet<string>): Picture {
  const joined = new Set(picture.edges.flatMap((edge) => [edge.from, edge.to]));
  const isAlone = (table: PictureTable) => !joined.has(table.id) && !table.subject && !table.inside;
  const members = picture.tables.filter((table) => isAlone(table) && !pinned.has(table.id)).map((table) => table.id);
  // of a picture that was cut nobody can tell: their edges may lead to what is not there
  const tables = picture.truncated ? picture.tables : picture.tables.map((table) => (isAlone(table) ? { ...table, alone: true } : table));
  const marked = { ...picture, tables };
  return members.length > ALONE ? gathered(marked, [{ id: picture.truncated ? 'stack:apart' : 'stack:alone', kind: 'stack', members }]) : marked;
}

/** Without an asked table: those with the same neighbours on both sides. */
function withTwins(picture: Picture, pinned: ReadonlySet<string>): Picture {
  const beside = neighbours(picture);
  const twins = new Map<string, string[]>();
  for (const table of picture.tables) {
    if (table.members || pinned.has(table.id)) continue;
    const { ins, outs } = beside(table.id);
    const key = JSON.stringify([[...ins].sort(), [...outs].sort()]);
    twins.set(key, [...(twins.get(key) ?? []), table.id]);
  }
  const keep = STEPS[0][0];
  const stacks = [...twins.values()].filter((ids) => ids.length > keep + ALONE).map((ids): Stack => ({ id: `stack:${ids[0]}`, kind: 'stack', members: ids.slice(keep) }));
  return gathered(picture, stacks);
}

interface Stack {
  id: string;
  kind: 'stack' | 'chain';
  members: readonly string[];
}

/** Of each table's neighbours on the far side of the asked one only so many; the others, and what only they lead to, are a stack. */
function withStacks(picture: Picture, subject: PictureTable, pinned: ReadonlySet<string>, keep: number, depth: number): Picture {
  const beside = neighbours(picture);
  const tables = new Map(picture.tables.map((table) => [table.id, table]));
  const stackOf = new Map<string, string>();
  const after = new Map<string, string>();
  const seen = new Set([subject.id]);
  const weight = (id: string) => (pinned.has(id) ? 2e9 : 0) + (tables.get(id)?.change ? 1e9 : 0) + beside(id).ins.size + beside(id).outs.size;
  for (const side of ['ins', 'outs'] as const) {
    const queue: [string, number][] = [[subject.id, 0]];
    const behind: string[] = [];
    for (const [id, far] of queue) {
      const next = [...beside(id)[side]].filter((each) => !seen.has(each)).sort((a, b) => weight(b) - weight(a));
      const many = far >= depth ? 0 : next.length > keep + ALONE ? keep : next.length;
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
      for (const each of beside(id)[side])
        if (!seen.has(each)) {
          seen.add(each);
          stackOf.set(each, stackOf.get(id) ?? '');
          behind.push(each);
        }
  }
  const beyond = picture.tables.filter((table) => !seen.has(table.id) && !pinned.has(table.id)); // neither feeds it nor is made of it
  if (beyond.length > keep) for (const { id } of beyond) stackOf.set(id, 'stack:beyond');
  return inTheMiddle(gathered(picture, stacksOf(stackOf)), after);
}

/** List each stack in the middle of those it belongs to, where it is seen: they are drawn in this order. */
function inTheMiddle(picture: Picture, after: ReadonlyMap<string, string>): Picture {
  const stacks = new Map(picture.tables.filter((table) => table.kind === 'stack').map((table) => [table.id, table]));
  const moved = new Set([...after.values()].filter((id) => stacks.has(id)));
  const tables = picture.tables.filter((table) => !moved.has(table.id));
  return { ...picture, tables: tables.flatMap((table) => [table, stacks.get(after.get(table.id) ?? '') ?? []].flat()) };
}

function stacksOf(stackOf: ReadonlyMap<string, string>): Stack[] {
  const members = new Map<string, string[]>();
  for (const [id, stack] of stackOf) members.set(stack, [...(members.get(stack) ?? []), id]);
  return [...members].map(([id, ids]) => ({ id, kind: 'stack', members: ids }));
}

/** Draw each stack as one box; its members keep what they say. */
function gathered(picture: Picture, stacks: readonly Stack[]): Picture {
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
    moreUp: 0, moreDown: 0, columnLineage: true, subject: false, alone: id === 'stack:alone',
  }; // prettier-ignore
}

/** Add up the edges of columns whose rows are folded: they meet their tables at the same row. */
export function foldRows(picture: Picture, opened: ReadonlySet<string>): Picture {
  const rows = new Map(picture.tables.map((table) => [table.id, new Set(shownColumns(table, opened.has(table.id)).map((column) => column.name))]));
  const end = (id: string, column: string | undefined) => [id, column === undefined || rows.get(id)?.has(column) ? column : null];
  const found = new Map<string, PictureEdge>();
  for (const edge of picture.edges) {
    const ends = JSON.stringify([end(edge.from, edge.fromColumn), end(edge.to, edge.toColumn), edge.control ?? false]);
    const known = found.get(ends);
    found.set(ends, known ? added(known, edge) : edge);
  }
  return { ...picture, edges: [...found.values()] };
}
