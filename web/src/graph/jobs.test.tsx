// The graph of jobs, badges of what stands for many, and tables of thousands of columns.
import { cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { afterEach, expect, test } from 'vitest';

import type { Answer, Schemas } from '../api/client';
import { Navigation } from '../shell/Navigation';
import { badgeOf, type Badge, groupBadgesOf } from './badges';
import { fold } from './fold';
import { coloursOf } from './frame';
import { jobPicture } from './jobPicture';
import { layOut } from './layout';
import { pictureOf, type Picture, type PictureTable } from './picture';
import { graphOf, hiddenColumns, OPEN_ROWS, portY, shownColumns } from './shape';
import { drawingOf } from './saved';
import { svgOf } from './svg';
import { groupsToOpen } from './useMap';

afterEach(cleanup);

const COLOURS = coloursOf(document.documentElement);
const saved = (picture: Picture, badges: ReadonlyMap<string, Badge> = new Map()): string =>
  svgOf(drawingOf({ picture, layout: layOut(graphOf(picture, NONE)), opened: NONE, caption: { title: 't', subtitle: 's' }, colours: COLOURS, badges }));
const NONE = new Set<string>();
const node = (name: string, distance: number, level: 'task' | 'dag' = 'task') => ({ namespace: 'airflow', name, level, jobs: 1, distance, group: null });
const range = (many: number): number[] => Array.from({ length: many }, (_, at) => at);

/** load → check by data and by control; check → notify by control alone. */
const JOBS: Answer<'job-graph'> = {
  granularity: 'task', nodes: [node('check', 0), node('load', -1), node('notify', 1)],
  dataFlow: [{ from: 1, to: 0, datasets: 3, first: [{ namespace: 's3://lake', dataset: 'a/b/c' }] }],
  controlFlow: [{ from: 1, to: 0, type: 'DIRECT_INVOCATION', rule: null }, { from: 0, to: 2, type: null, rule: null }],
  hubs: [], totalCount: 3, truncated: false,
}; // prettier-ignore

test('a dataset of many writers and readers is drawn as a hub, and the asked job keeps edges of its own', () => {
  const hubs = [{ namespace: 's3://lake', dataset: 'hub', writers: [0, 1], readers: [0, 2] }];
  const picture = jobPicture({ ...JOBS, hubs }, true, 'data');
  expect(picture.tables.map((each) => [each.kind, each.name])).toContainEqual(['table', 'hub']);
  const through = picture.edges.filter((each) => each.from.startsWith('dataset:') || each.to.startsWith('dataset:'));
  expect(through.map((each) => [each.from, each.to])).toEqual([
    ['job:airflow/load', 'dataset:s3://lake/hub'], ['dataset:s3://lake/hub', 'job:airflow/notify'],
  ]); // prettier-ignore
  expect(jobPicture({ ...JOBS, hubs }, true, 'control').tables).toHaveLength(3);
});

test('data and control between the same two jobs are edges of their own, drawn apart', () => {
  const picture = jobPicture(JOBS, true, 'both');
  expect(new Set(picture.edges.map((each) => each.id)).size).toBe(3);
  const [data, control] = layOut(graphOf(picture, NONE)).routes.values();
  expect(data?.map((each) => each.y)).not.toEqual(control?.map((each) => each.y));
  expect([jobPicture(JOBS, true, 'data').edges.length, jobPicture(JOBS, true, 'control').edges.length]).toEqual([1, 2]);
});

test('a saved graph of jobs says which line is data and which is control', () => {
  const picture = jobPicture(JOBS, true, 'both');
  const svg = new DOMParser().parseFromString(saved(picture), 'image/svg+xml');
  const words = [...svg.querySelectorAll('text')].map((each) => each.textContent);
  expect(words).toEqual(expect.arrayContaining(['data flow: one job writes datasets that the other reads', 'control flow: one job waits for the other']));
  expect(words).not.toContain('direct: passes values');
  const dashes = [...svg.querySelectorAll('g path')].map((each) => each.getAttribute('stroke-dasharray'));
  expect(dashes.filter(Boolean)).toHaveLength(2);
});

test('folded siblings keep data and control apart, too', () => {
  const nodes = [node('asked', 0), ...range(200).map((at) => node(`t${at}`, 1))];
  const flows = range(200).map((at) => ({ from: 0, to: at + 1 }));
  const wide = jobPicture({ ...JOBS, nodes, dataFlow: flows.map((each) => ({ ...each, datasets: 1, first: [] })), controlFlow: flows.map((each) => ({ ...each, type: null, rule: null })) }, true, 'both');
  const folded = fold(wide, { pinned: NONE, between: [] });
  const toStack = folded.edges.filter((each) => each.to.startsWith('stack:'));
  expect(toStack.map((each) => [each.control, each.many])).toEqual([[false, 180], [true, 180]]);
});

const table = (name: string, more: Partial<PictureTable> = {}): PictureTable => ({
  id: `dataset:s3://lake/${name}`, kind: 'table', namespace: 's3://lake', name, columns: [], more: 0, distance: 0, moreUp: 0, moreDown: 0,
  columnLineage: true, subject: false, ...more,
}); // prettier-ignore

const healthItem = (name: string, status: Schemas['HealthItem']['status'], kind: 'dataset' | 'job' = 'dataset'): Schemas['HealthItem'] => ({
  kind, namespace: kind === 'job' ? 'airflow' : 's3://lake', name, status, reason: 'why', last_success: '2026-03-01T12:00:00Z', success_run: null,
  last_run: null, usual_seconds: null, due: null, late_seconds: status === 'late' ? 7_200 : null, waits_for: [], failed_with: [], rows: null, rows_before: null,
}); // prettier-ignore

test('a group says how many of it do not fare well, the narrowest that is drawn; a stack of what is in it', () => {
  const group = (name: string) => table(name, { id: name ? `group:s3://lake/${name}` : 'group:s3://lake', kind: 'group' });
  const stack = table('', { id: 'stack:x', kind: 'stack', members: [table('x/one'), table('two', { id: 'job:airflow/two', kind: 'job' })] });
  const picture: Picture = { tables: [group('gold'), group('gold/deep'), stack], edges: [], truncated: false };
  const items = [healthItem('gold/deep/a', 'failed'), healthItem('gold/deep/b', 'stale'), healthItem('gold/c', 'late'), healthItem('x/one', 'stale'), healthItem('two', 'failed', 'job'), healthItem('elsewhere/d', 'failed')];
  const found = groupBadgesOf(picture, { items, truncated: false });
  expect([...found].map(([id, badge]) => [id, badge.status, badge.label])).toEqual([
    ['group:s3://lake/gold/deep', 'failed', '1 failed, 1 stale'], ['group:s3://lake/gold', 'late', '1 late'], ['stack:x', 'failed', '1 failed, 1 stale'],
  ]); // prettier-ignore
  expect(groupBadgesOf(picture, { items, truncated: true }).get('stack:x')?.label).toBe('1 failed, 1 stale or more');
});

test('a saved picture has the badge of each box, and says what the signs mean', () => {
  const picture: Picture = { tables: [table('a'), table('b')], edges: [], truncated: false };
  const badges = new Map([['dataset:s3://lake/a', badgeOf(healthItem('a', 'late'))], ['dataset:s3://lake/b', badgeOf(healthItem('b', 'ok'))]]);
  const document = new DOMParser().parseFromString(saved(picture, badges), 'image/svg+xml');
  const words = [...document.querySelectorAll('text')].map((each) => each.textContent);
  expect(words).toEqual(expect.arrayContaining(['◷ late 2 h', '✓']));
  expect(words.some((each) => each.includes('stale') && each.includes('at the time of saving'))).toBe(true);
  expect([...document.querySelectorAll('title')].some((each) => each.textContent.includes('last written 2026-03-01'))).toBe(true);
});

test('of 5,000 columns an opened table draws so many, counts all, and edges of the others meet its last row', () => {
  const columns = range(5_000).map((at) => ({ name: `c${at}`, distance: 0, subject: false, maskedOnTheWay: false }));
  const wide = table('wide', { columns });
  expect([shownColumns(wide, true).length, hiddenColumns(wide, true), hiddenColumns(wide, false)]).toEqual([OPEN_ROWS, 5_000 - OPEN_ROWS, 4_992]);
  expect(portY(wide, true, 'c4999')).toBe(portY(wide, true, 'c2000'));
  const known = pictureOf({
    subject: { namespace: 's3://lake', dataset: 'wide', column: null }, mode: 'any', columns: [], columnEdges: [], tableEdges: [], hidden: 0, truncated: false,
    tables: [{ namespace: 's3://lake', dataset: 'wide', columns: range(200).map((at) => `c${at}`), columnCount: 5_000, distance: 0, columnLineage: true, moreUp: 0, moreDown: 0 }],
  }).tables[0]; // prettier-ignore
  expect(known && hiddenColumns(known, true)).toBe(5_000 - OPEN_ROWS);
});

test('all groups of a small lake are opened, and a group that contains all datasets of a large one', () => {
  const group = { id: 'group:a', kind: 'group' as const, namespace: 'a', name: '', datasets: 700, inside: 3 };
  const map = { groups: 'namespace' as const, nodes: [group], edges: [], totalCount: 1, hidden: 0, truncated: false };
  const two = { ...map, nodes: [group, { ...group, id: 'group:b' }], totalCount: 2 };
  const small = { ...two, nodes: two.nodes.map((each) => ({ ...each, datasets: 20 })) };
  expect([map, two, small, { ...small, truncated: true }, { ...map, nodes: [{ ...group, kind: 'dataset' as const }] }, undefined].map(groupsToOpen)).toEqual([['group:a'], [], ['group:a', 'group:b'], [], [], []]);
});

test('all pages are listed by group, and the page of one dataset marks the list of datasets', () => {
  render(<RouterProvider router={createMemoryRouter([{ path: '*', element: <Navigation /> }], { initialEntries: ['/dataset?name=x'] })} />);
  const current = () => screen.getAllByRole('link').flatMap((link) => (link.getAttribute('aria-current') ? [[link.textContent, link.getAttribute('aria-current')]] : []));
  expect(current()).toEqual([['Datasets', 'true']]);
  fireEvent.click(within(screen.getByRole('list', { name: 'Trust' })).getByRole('link', { name: 'Health' }));
  expect(current()).toEqual([['Health', 'page']]);
});
