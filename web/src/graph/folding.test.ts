// Pictures of every size, laid out: no edge crosses a box, no box covers another, and what is folded is counted.
import { expect, test } from 'vitest';

import { count } from '../parts/format';
import { fold } from './fold';
import { withJobs } from './jobs';
import type { Box, Point } from './geometry';
import { layOut, type Layout } from './layout';
import { lineOf } from './line';
import { edgeId, type Picture, type PictureEdge, type PictureTable } from './picture';
import { graphOf, WIDTH } from './shape';
import { initialViewport } from './viewport';
import { degreesOf, neighbours } from './neighbours';
import { headingOf, subtitleOf } from './words';

const NOTHING = { pinned: new Set<string>(), between: [] };
const BOXES = 170;

function table(name: string, distance = 0, columns: string[] = []): PictureTable {
  return {
    id: name, kind: 'table', namespace: 'n', name, distance, more: 0, moreUp: 0, moreDown: 0, columnLineage: true,
    columns: columns.map((column) => ({ name: column, distance, subject: false, maskedOnTheWay: false })), subject: name === 'asked',
  }; // prettier-ignore
}

function edge(from: string, to: string, columns: Partial<PictureEdge> = {}): PictureEdge {
  return { ...columns, id: edgeId({ ...columns, from, to }), from, to, indirect: false, masked: false, opaque: false, many: 1, jobs: [{ namespace: 'j', name: `${from}→${to}` }] };
}

const picture = (tables: PictureTable[], edges: PictureEdge[]): Picture => ({ tables, edges, truncated: false });
const many = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** The same row of numbers for the same seed. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function random(tables: number, edges: number, seed: number): Picture {
  const next = chance(seed);
  const names = many(tables).map((at) => (at ? `t${at}` : 'asked'));
  const pick = () => names[Math.floor(next() * tables)] ?? '';
  const found = new Map(many(edges).map(() => edge(pick(), pick())).map((each) => [each.id, each]));
  return picture(names.map((name) => table(name)), [...found.values()]);
}

function layered(layers: number, wide: number): Picture {
  const name = (layer: number, at: number) => (layer === 1 && at === 0 ? 'asked' : `l${layer}/${at}`);
  const tables = many(layers).flatMap((layer) => many(wide).map((at) => table(name(layer, at), layer - 1)));
  const edges = many(layers - 1).flatMap((layer) => many(wide).flatMap((at) => [0, 1, 7].map((step) => edge(name(layer, at), name(layer + 1, (at + step) % wide)))));
  return picture(tables, [...new Map(edges.map((each) => [each.id, each])).values()]);
}

/** So many tables, three made of each. */
function tree(tables: number): Picture {
  const name = (at: number) => (at ? `t${at}` : 'asked');
  const depth = (at: number): number => (at ? 1 + depth(Math.floor((at - 1) / 3)) : 0);
  return picture(many(tables).map((at) => table(name(at), depth(at))), many(tables - 1).map((at) => edge(name(Math.floor(at / 3)), name(at + 1))));
}

const columns = many(30).map((at) => `c${at}`);
const groups = many(40).map((at): PictureTable => ({ ...table(`g${at}`), kind: 'group', datasets: 50, inside: 9 }));

const CASES: Record<string, Picture> = {
  'one table': picture([table('asked')], []),
  '500 consumers': picture([table('asked'), ...many(500).map((at) => table(`t${at}`, 1))], many(500).map((at) => edge('asked', `t${at}`))),
  '1,000 inputs': picture([table('asked'), ...many(1_000).map((at) => table(`t${at}`, -1))], many(1_000).map((at) => edge(`t${at}`, 'asked'))),
  '30 layers in a row': layered(30, 1),
  '30 layers of 30': layered(30, 30),
  '2,000 tables': random(2_000, 3_000, 1),
  '2,000 tables in a tree': tree(2_000),
  '60 tables without an asked one': { ...random(60, 80, 1), tables: random(60, 80, 1).tables.map((each) => ({ ...each, subject: false })) },
  'a circle': picture(['asked', 'b', 'c', 'd'].map((name) => table(name)), [edge('asked', 'b'), edge('b', 'c'), edge('c', 'asked'), edge('c', 'd'), edge('d', 'b')]),
  'to itself': picture([table('asked', 0, columns)], [edge('asked', 'asked'), edge('asked', 'asked', { fromColumn: 'c1', toColumn: 'c3' })]),
  'two that feed each other': picture([table('asked'), table('b')], [edge('asked', 'b'), edge('b', 'asked')]),
  'columns that skip layers': picture(
    ['asked', 'b', 'c', 'd'].map((name) => table(name, 0, columns)),
    [['asked', 'b'], ['b', 'c'], ['c', 'd'], ['asked', 'd'], ['d', 'asked']].flatMap(([from = '', to = '']) => columns.map((column, at) => edge(from, to, { fromColumn: column, toColumn: columns[29 - at] ?? '' }))),
  ),
  'groups joined to all others': picture(groups, groups.flatMap((from) => groups.filter((to) => to !== from).map((to, at) => ({ ...edge(from.id, to.id), many: 1 + (at % 7) })))),
  'hostile names': picture(['asked', '["x","y"]', '__proto__', 'group:', '\u202e', 'x'.repeat(5_000)].map((name) => table(name)), [edge('asked', '__proto__'), edge('["x","y"]', 'asked'), edge('\u202e', 'x'.repeat(5_000)), edge('__proto__', '["x","y"]')]),
  ...Object.fromEntries(many(12).map((seed) => [`by chance, ${seed}`, random(5 + 3 * seed, 4 + 5 * seed, seed + 7)])),
};

/** Drawn with nothing folded, too; all with fewer edges are. */
const WHOLE = new Set(['500 consumers', '1,000 inputs', '30 layers of 30', '2,000 tables in a tree']);

const inside = (point: Point, box: Box): boolean => point.x > box.x + 0.5 && point.x < box.x + box.width - 0.5 && point.y > box.y + 0.5 && point.y < box.y + box.height - 0.5;

/** Points of an SVG path of M, L and C, as it is drawn. */
function pointsOf(path: string): Point[] {
  let at: Point = { x: 0, y: 0 };
  return [...path.matchAll(/([MLC])([^MLC]+)/g)].flatMap(([, command, text = '']) => {
    const found = text.trim().split(/\s+/).map((each) => each.split(',').map(Number)).map(([x = NaN, y = NaN]) => ({ x, y }));
    const start = at;
    const [a = start, b = start, end = a] = command === 'C' ? found : [start, found[0], found[0]];
    at = end;
    if (command === 'M') return [end];
    const steps = command === 'L' ? 5 : 10;
    return many(steps).map((step) => {
      const [t, s] = [(step + 1) / steps, 1 - (step + 1) / steps];
      const mix = (axis: 'x' | 'y') =>
        command === 'L' ? s * start[axis] + t * end[axis] : s ** 3 * start[axis] + 3 * s * s * t * a[axis] + 3 * s * t * t * b[axis] + t ** 3 * end[axis];
      return { x: mix('x'), y: mix('y') };
    });
  });
}

function grouped(places: Layout['places']): Map<number, [string, Box][]> {
  const found = new Map<number, [string, Box][]>();
  for (const place of places) found.set(place[1].x, [...(found.get(place[1].x) ?? []), place]);
  return found;
}

function hidden({ places, routes }: Layout): string[] {
  const columns = [...grouped(places)].map(([x, boxes]): [number, [string, Box][]] => [x, boxes.sort(([, a], [, b]) => a.y - b.y)]);
  const found: string[] = [];
  for (const [id, route] of routes)
    for (const point of pointsOf(lineOf(route).path))
      for (const [x, boxes] of columns) {
        if (point.x <= x || point.x >= x + WIDTH) continue;
        const [name, box] = lastAbove(boxes, point.y) ?? [];
        if (box && inside(point, box)) found.push(`${id} behind ${name}`);
      }
  return found;
}

/** Of boxes from the top down, which do not cover each other, the only one that may have a point of this height. */
function lastAbove(boxes: readonly [string, Box][], y: number): [string, Box] | undefined {
  let [low, high] = [0, boxes.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((boxes[middle]?.[1].y ?? 0) <= y) low = middle + 1;
    else high = middle;
  }
  return boxes[low - 1];
}

function covered({ places }: Layout): string[] {
  const boxes = [...places].sort(([, a], [, b]) => a.x - b.x || a.y - b.y);
  return boxes.flatMap(([name, box], at) => {
    const below = boxes[at + 1];
    return below?.[1].x === box.x && below[1].y < box.y + box.height ? [`${name} covers ${below[0]}`] : [];
  });
}

const PANE = { width: 1_200, height: 600 };
const LEGIBLE = 11 / 12; // the smallest text of a box has 12 px
const FITTING = 0.65; // the smallest zoom at which a graph is shown whole

/** What was asked is seen when it opens, and can be read. */
function looked(drawn: Picture, { places }: Layout): void {
  const asked = places.get(drawn.tables.find((each) => each.subject)?.id ?? '');
  const { x, y, zoom } = initialViewport(drawn, places, PANE.width, PANE.height);
  if (zoom < LEGIBLE) {
    expect(zoom).toBeGreaterThanOrEqual(FITTING);
    for (const box of places.values()) {
      expect([box.x * zoom + x >= 0, (box.x + box.width) * zoom + x <= PANE.width, box.y * zoom + y >= 0, (box.y + box.height) * zoom + y <= PANE.height]).toEqual([true, true, true, true]);
    }
  }
  if (!asked) return;
  expect(asked.x * zoom + x).toBeGreaterThanOrEqual(0);
  expect((asked.x + asked.width) * zoom + x).toBeLessThanOrEqual(PANE.width);
  expect(asked.y * zoom + y).toBeGreaterThanOrEqual(0);
  expect((asked.y + Math.min(asked.height, 46)) * zoom + y).toBeLessThanOrEqual(PANE.height);
}

test.each(Object.keys(CASES))('%s: no edge behind a box, whole or folded', (name) => {
  const whole = CASES[name] ?? picture([], []);
  const drawn = fold(whole, NOTHING);
  for (const each of [...(WHOLE.has(name) || whole.edges.length < 500 ? [whole] : []), ...(whole.edges.length < 500 ? [withJobs(whole)] : []), drawn]) {
    const layout = layOut(graphOf(each, new Set()));
    expect(layout.places.size).toBe(each.tables.length);
    expect(layout.routes.size).toBe(each.edges.length);
    expect(hidden(layout)).toEqual([]);
    expect(covered(layout)).toEqual([]);
    looked(each, layout);
  }
  for (const box of drawn.tables) if (box.members) expect(headingOf(box)).toContain(count(box.members.length));
  const counted = drawn.tables.flatMap((box) => box.members ?? [box]).map((box) => box.id);
  expect(counted.sort()).toEqual(whole.tables.map((each) => each.id).sort());
  if (whole.tables.some((each) => each.subject)) {
    expect(drawn.tables.filter((box) => box.subject)).toHaveLength(1);
    expect(drawn.tables.length).toBeLessThanOrEqual(BOXES);
  }
}, 60_000);

test('what is folded says how many, and what is pinned is drawn', () => {
  const whole = CASES['500 consumers'] ?? picture([], []);
  const stacks = (pinned: string[]) => fold(whole, { ...NOTHING, pinned: new Set(pinned) }).tables;
  expect(stacks([]).find((box) => box.kind === 'stack')?.members).toHaveLength(480);
  expect(stacks(['t499']).map((box) => box.id)).toContain('t499');
  expect(stacks([]).map((box) => box.id)).not.toContain('t499');
});

test('a box says how many tables lead out of it, not what lies behind them in a stack', () => {
  const of = (name: string) => degreesOf(fold(CASES[name] ?? picture([], []), NOTHING))[1];
  expect(of('500 consumers').get('asked')).toBe(500);
  expect(new Set(of('2,000 tables in a tree').values())).toEqual(new Set([3]));
});

test('a row of tables is one step that says how many, and opens', () => {
  const whole = CASES['30 layers in a row'] ?? picture([], []);
  const [chain] = fold(whole, NOTHING).tables.filter((box) => box.kind === 'chain');
  expect(chain?.members).toHaveLength(26);
  expect(fold(whole, { ...NOTHING, pinned: new Set([chain?.id ?? '']) }).tables).toHaveLength(30);
});

test('what lies between two tables is folded, whichever was chosen first', () => {
  const whole = layered(6, 3);
  for (const pair of [['asked', 'l5/0'], ['l5/0', 'asked']] as const) {
    const drawn = fold(whole, { ...NOTHING, between: [pair] });
    const [chain] = drawn.tables.filter((box) => box.kind === 'chain');
    expect(chain?.members?.length).toBeGreaterThan(2);
    expect(neighbours(drawn)('asked').outs.has(chain?.id ?? '')).toBe(true);
  }
});

test('a table without an edge is marked, many of them are one stack', () => {
  const few = picture(['a', 'b', 'c'].map((name) => table(name)), [edge('a', 'b')]);
  expect(fold(few, NOTHING).tables.map((each) => each.isolated ?? false)).toEqual([false, false, true]);
  const lonely = fold(picture(many(9).map((at) => table(`t${at}`)), []), NOTHING);
  expect(lonely.tables.map((each) => [each.kind, each.isolated, each.members?.length])).toEqual([['stack', true, 9]]);
  const cutOff = fold({ ...picture(many(9).map((at) => table(`t${at}`)), []), truncated: true }, NOTHING);
  expect(cutOff.tables.map((each) => [each.kind, each.isolated, subtitleOf(each)])).toEqual([['stack', false, 'no edges in this graph']]); // its edges may lead to what was left out
});

test('groups joined to most others are drawn by their heaviest edges, the others are kept for when one is chosen', () => {
  const drawn = fold(CASES['groups joined to all others'] ?? picture([], []), NOTHING);
  const strong = drawn.edges.filter((each) => !each.weak);
  expect(strong.length).toBeLessThanOrEqual(80);
  expect(drawn.edges).toHaveLength(40 * 39);
});

test('jobs as boxes stand between what they read and what they write', () => {
  const drawn = withJobs(CASES['a circle'] ?? picture([], []));
  expect(neighbours(drawn)('job:j/asked→b')).toEqual({ ins: new Set(['asked']), outs: new Set(['b']) });
});
