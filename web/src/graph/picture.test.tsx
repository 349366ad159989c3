import { fireEvent, render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, test } from 'vitest';

import type { Answer } from '../api/client';
import { collapse, groupName } from './collapse';
import { compare } from './compare';
import { GraphTable } from './GraphTable';
import { pathPicture } from './path';
import { mapOf, MASKED_ON_THE_WAY, pictureOf, type Picture } from './picture';
import { prune } from './prune';
import { layOut } from './layout';
import { graphOf, heightOf, portY, shownColumns } from './shape';
import { captionOf, coloursOf, type Colours } from './frame';
import { drawingOf } from './saved';
import { svgOf } from './svg';
import { stopSentences } from './stops';
import { escaped } from './svgText';
import { useView, type View } from './view';

const table = (dataset: string, distance: number, columns: string[] = ['a', 'b']) => ({
  namespace: 's3://lake', dataset, columns, columnCount: columns.length, distance, columnLineage: true, moreUp: 0, moreDown: 0,
}); // prettier-ignore

/** raw/x → mid/y → end/z, and mid/y → end/opaque without columns. */
const around = (column: string | null): Answer<'lineage'> => ({
  subject: { namespace: 's3://lake', dataset: 'mid/y', column },
  mode: 'any',
  tables: [table('raw/x', -1), table('mid/y', 0), table('end/opaque', 1), table('end/z', 1, ['m', 'n', 'c'])],
  columns: column === null ? [] : [
    { table: 1, column: 'a', distance: 0, masked: false },
    { table: 0, column: 'a', distance: -1, masked: false },
    { table: 3, column: 'n', distance: 1, masked: true },
    { table: 3, column: 'm', distance: 1, masked: false },
  ],
  columnEdges: column === null ? [] : [
    { from: 1, to: 0, type: 'DIRECT', subtype: null, masked: false },
    { from: 0, to: 2, type: 'DIRECT', subtype: null, masked: true },
    { from: 0, to: 3, type: 'INDIRECT', subtype: 'JOIN', masked: false },
  ],
  tableEdges: [
    { from: 0, to: 1, columns: true, jobs: [] },
    { from: 1, to: 2, columns: false, jobs: [{ namespace: 'j', name: 'opaque' }] },
    { from: 1, to: 3, columns: true, jobs: [] },
  ],
  hidden: 0, truncated: false,
}); // prettier-ignore

const CAPTION = { title: 'mail in customers', subtitle: 'as of now' };
const COLOURS = coloursOf(document.documentElement);
const saved = (picture: Picture, colours: Colours = COLOURS): string =>
  svgOf(drawingOf({ picture, layout: layOut(graphOf(picture, new Set())), opened: new Set(), caption: CAPTION, colours, badges: new Map() }));

const names = (columns: readonly { name: string }[] | undefined) => columns?.map((each) => each.name);

test('with a column only related columns stay, nearest first, and edges without columns are kept apart', () => {
  const picture = pictureOf(around('a'));
  expect(picture.tables.map((each) => [each.name, names(each.columns), each.more])).toEqual([
    ['raw/x', ['a'], 1], ['mid/y', ['a'], 1], ['end/opaque', [], 2], ['end/z', ['m', 'n'], 1],
  ]); // prettier-ignore
  expect(picture.edges.map((each) => [each.toColumn, each.indirect, each.masked, each.opaque])).toEqual([
    ['a', false, false, false], ['n', false, true, false], ['m', true, false, false], [undefined, false, false, true],
  ]); // prettier-ignore
});

test('without a column every column is there and edges join tables', () => {
  const picture = pictureOf(around(null));
  expect(names(picture.tables[3]?.columns)).toEqual(['m', 'n', 'c']);
  expect(picture.edges).toHaveLength(3);
});

test.each([
  ['a/b/c', 'namespace', ''], ['a/b/c', 'lakehouse', 'a'], ['a/b/c', 'schema', 'a/b'], ['/a/b/', 'schema', 'a'],
  ['db.t', 'schema', 'db'], ['t', 'schema', ''],
] as const)('%s belongs to the %s %s', (name, level, group) => expect(groupName(name, level)).toBe(group)); // prettier-ignore

test('folding adds edges up, leaves the asked table alone, and opens group by group', () => {
  const folded = collapse(pictureOf(around('a')), 'schema', new Set());
  expect(folded.tables.map((each) => [each.id, each.datasets])).toEqual([
    ['group:s3://lake/raw', 1], ['dataset:s3://lake/mid/y', undefined], ['group:s3://lake/end', 2],
  ]); // prettier-ignore
  expect(folded.edges.map((each) => [each.to, each.many])).toEqual([
    ['dataset:s3://lake/mid/y', 1], ['group:s3://lake/end', 2], ['group:s3://lake/end', 1],
  ]); // prettier-ignore
  const opened = collapse(pictureOf(around('a')), 'schema', new Set(['group:s3://lake/end']));
  expect(opened.tables.map((each) => each.kind)).toEqual(['group', 'table', 'table', 'table']);
});

test('what lies behind a fold is hidden on its side only', () => {
  const picture = prune(pictureOf(around(null)), new Set(['down:dataset:s3://lake/mid/y']));
  expect(picture.tables.map((each) => each.name)).toEqual(['raw/x', 'mid/y']);
  expect(picture.edges).toHaveLength(1);
});

test('two moments laid over each other mark what came and what went', () => {
  const now = pictureOf(around('a'));
  const earlier = { ...now, tables: now.tables.filter((each) => each.name !== 'end/z'), edges: now.edges.slice(0, 1) };
  const addToGroup = compare(earlier, now);
  expect(addToGroup.tables.find((each) => each.name === 'end/z')?.change).toBe('added');
  expect(addToGroup.edges.map((each) => each.change)).toEqual([undefined, 'added', 'added', 'added']);
  const shrunk = compare(now, earlier);
  expect(shrunk.tables.find((each) => each.name === 'end/z')?.change).toBe('removed');
  expect(shrunk.edges.map((each) => each.change)).toEqual([undefined, 'removed', 'removed', 'removed']);
});

test('a way is drawn with its ends, masked from the first step that masks on', () => {
  const [from, mid, to] = ['a', 'b', 'c'].map((name) => ({ namespace: 'n', dataset: name, column: 'x' })) as [Step, Step, Step];
  const step = (at: Step, before: Step, masking: boolean) => ({
    ...at, via: { ...before, job: { namespace: 'j', name: 'job' }, transformation: { type: 'DIRECT' as const, subtype: null, masking, description: null }, origin: 'observed' as const, doubtful: false },
  }); // prettier-ignore
  const picture = pathPicture({ from, to, mode: 'value', reaches: true, path: [step(mid, from, true), step(to, mid, false)], stops: [] });
  expect(picture.tables.map((each) => [each.name, each.columns[0]?.maskedOnTheWay])).toEqual([['a', false], ['b', true], ['c', true]]);
  expect(pathPicture({ from, to, mode: 'value', reaches: false, path: [], stops: [] }).tables).toHaveLength(2);
});

test('the source of a way is not rated by what comes after it, asked with a column or without', () => {
  const [from, to] = [{ namespace: 'n', dataset: 'a', column: null }, { namespace: 'n', dataset: 'b', column: 'hash' }];
  const via = { ...from, column: 'mail', job: { namespace: 'j', name: 'job' }, transformation: { type: 'DIRECT' as const, subtype: null, masking: true, description: null }, origin: 'observed' as const, doubtful: false };
  const picture = pathPicture({ from, to, mode: 'value', reaches: true, path: [{ ...to, via }], stops: [] });
  expect(picture.tables.map((each) => each.columns.map((column) => [column.name, column.maskedOnTheWay]))).toEqual([[['mail', false]], [['hash', true]]]);
});

test('upstream a picture says masked on the way, on screen and saved, never that a source is masked', async () => {
  const answer = around('a');
  const picture = pictureOf({ ...answer, columns: answer.columns.map((each) => ({ ...each, masked: each.distance < 0 })) });
  const words = [...saved(picture).matchAll(/>([^<]*masked[^<]*)</g)].map(([, text]) => text);
  expect(words).toEqual([MASKED_ON_THE_WAY]);
  render(<MemoryRouter initialEntries={['/?dataset=mid/y&column=a']}><Listed picture={picture} /></MemoryRouter>);
  fireEvent.click(screen.getByText('Graph as a table'));
  await screen.findByRole('link', { name: 'raw/x' });
  const rows = screen.getAllByRole('row').map((row) => [...row.children].map((cell) => cell.textContent));
  expect(rows[0]?.[3]).toBe('Path');
  expect(new Map(rows.slice(1).map((row) => [row[0], row[3]])).get('upstream, 1')).toBe(MASKED_ON_THE_WAY);
});

function Listed({ picture }: { picture: Picture }) {
  return <GraphTable picture={picture} view={useView()} />;
}

interface Step {
  namespace: string;
  dataset: string;
  column: string;
}

test('edges end at the rows of their columns, at the row that says how many more where theirs is folded, and else at the head', () => {
  const [, wide] = pictureOf({ ...around(null), tables: [table('x', -1), table('mid/y', 0, Array.from({ length: 100 }, (_, at) => `c${at}`))] }).tables;
  if (!wide) throw new Error('there are two tables');
  expect(shownColumns(wide, false)).toHaveLength(8);
  expect(portY(wide, false, 'c50')).toBeGreaterThan(portY(wide, false, 'c7'));
  expect(portY(wide, false, 'c50')).toBe(portY(wide, false, 'c99'));
  expect(portY(wide, false, undefined)).toBeLessThan(portY(wide, false, 'c0'));
  expect(portY(wide, true, 'c50')).toBeGreaterThan(portY(wide, true, 'c49'));
  expect(heightOf(wide, true)).toBeGreaterThan(heightOf(wide, false));
});

test('the map has groups with their counts', () => {
  const node = { id: 'group:a', kind: 'group' as const, namespace: 'a', name: '', datasets: 7, inside: 3 };
  const map = mapOf({ groups: 'namespace', nodes: [node], edges: [{ from: 'group:a', to: 'group:b', edges: 4, jobs: 1 }], totalCount: 1, hidden: 0, truncated: false });
  expect([map.tables[0]?.datasets, map.edges[0]?.many]).toEqual([7, 4]);
});

test('a saved graph has what the screen shows: title, moment, masks, counts, marks, colours and what lines mean', () => {
  const now = pictureOf(around('a'));
  const picture = compare({ ...now, tables: now.tables.filter((each) => each.name !== 'end/z'), edges: now.edges.slice(0, 2) }, now);
  const colours: Colours = { ...COLOURS, bg: '#0d1117', good: '#56d364', dim: '#9da7b3' };
  const document = new DOMParser().parseFromString(saved(picture, colours), 'image/svg+xml');
  const words = [...document.querySelectorAll('text')].map((each) => each.textContent);
  expect(words.slice(0, 2)).toEqual(['mail in customers', 'as of now']);
  for (const text of ['masks', '+join', '+no columns', 'masks values', '+ added since the earlier time', 'indirect: filters, joins, groups or sorts', 'columns unknown: the job reports only datasets'])
    expect(words).toContain(text);
  expect(words).not.toContain('− removed since then');
  expect(words.some((each) => each.startsWith('added · '))).toBe(true);
  const masks = [...document.querySelectorAll('g path')].find((path) => path.textContent.includes('(masks)'));
  expect(masks?.getAttribute('stroke')).toBe('#56d364');
  expect(document.querySelector('rect')?.getAttribute('fill')).toBe('#0d1117');
  expect(document.querySelectorAll('[class], style')).toHaveLength(0);
});

test('a caption says what is drawn, of which moment, and against which', () => {
  const view = { namespace: 's3://lake', dataset: 'a/b', column: 'c', asOf: '2026-03-01T00:00:00Z', since: '2026-02-01T00:00:00Z', every: false, mode: 'any', target: { dataset: '', column: '' } };
  expect(captionOf(view as View, 'c in a/b', new Date('2026-11-23T10:00:00Z')).subtitle).toBe(
    's3://lake/a/b · as of 2026-03-01 00:00:00 UTC, saved 2026-11-23 10:00:00 UTC · compared with 2026-02-01 00:00:00 UTC · values, filters, joins and groups',
  );
});

test('a saved graph is well-formed XML whatever the names are', () => {
  const hostile = '<img src=x onerror="alert(1)">&\u0000\u202e🦆';
  const answer = { ...around(null), tables: [table(hostile, 0, [hostile]), ...around(null).tables.slice(1)] };
  const picture = pictureOf(answer);
  const document = new DOMParser().parseFromString(saved(picture), 'image/svg+xml');
  expect(document.querySelector('parsererror')).toBeNull();
  expect(document.querySelectorAll('img, script, foreignObject')).toHaveLength(0);
  expect(document.querySelectorAll('g path')).toHaveLength(3);
  expect([...document.querySelectorAll('title')].map((each) => each.textContent).join()).toContain('␀⟨U+202E⟩🦆');
  expect(escaped(`'"<>&`)).toBe('&apos;&quot;&lt;&gt;&amp;');
});

test('stops name what jobs do not report, and what may be connected', () => {
  const lake = { namespace: 's3://lake' };
  const stop = { ...lake, onward: [], unread: [], jobs: [{ namespace: 'jobs', name: 'load' }], may_be_connected: [], runs: [] };
  const failed = { run: '1', job: { namespace: 'jobs', name: 'nightly' }, state: 'FAIL', time: null };
  const link = { ...lake, dataset: 'raw/orders', job: { namespace: 'jobs', name: 'show' }, application: '1' };
  expect(stopSentences([])).toEqual([]);
  expect(stopSentences([
    { ...stop, dataset: 'raw/orders', reason: 'no_output' },
    { ...stop, dataset: 'gold/total', reason: 'no_input', may_be_connected: [link, link] },
    { ...stop, dataset: 'raw/orders', reason: 'not_completed', runs: [failed] },
    ...['a', 'b', 'c', 'd'].map((dataset) => ({ ...stop, dataset, reason: 'no_columns' as const })),
  ])).toEqual([
    'Lineage may continue beyond a, b, c and 1 more, where jobs report no columns.',
    'gold/total is written by load, which reports no input.',
    'raw/orders is read by load, which reports no output.',
    'A run of nightly at raw/orders is FAIL, so its inputs and outputs are unknown. Wait until it ends, or run the job again.',
    'One application read and wrote these tables, so they may be connected: gold/total and raw/orders.',
  ]);
});
