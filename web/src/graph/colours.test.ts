import { expect, test, vi } from 'vitest';

import { testsOf } from '../parts/qualityTests';
import { healthMark } from './colouring';
import { endKey, Highlight, pathThrough } from './highlight';
import { collapse } from './collapse';
import { layerOf } from './layer';
import type { Picture, PictureEdge, PictureTable } from './picture';
import { systemIcon } from './systems';

test.each([
  ['Shop.Lakehouse/Tables/silver/customers', 'silver'], ['Shop.Lakehouse/Files/landing/customers', 'landing'], ['warehouse.gold.dim_customers', 'gold'],
  ['db.goldlh.t', 'gold'], ['raw_orders', 'landing'], ['db.public.stg_orders', 'bronze'], ['gold/bronze/t', 'bronze'], ['golden.t', undefined], ['db.t_gold', undefined], ['', undefined],
] as const)('%s is in the layer %s', (name, layer) => expect(layerOf(name)).toBe(layer)); // prettier-ignore

const edge = (from: string, fromColumn: string, to: string, toColumn: string): PictureEdge => ({
  id: `${from}.${fromColumn}-${to}.${toColumn}`, from, to, fromColumn, toColumn, indirect: false, masked: false, opaque: false, many: 1, jobs: [],
}); // prettier-ignore

test('a path has everything upstream and downstream of a column, but not its siblings, and ends in a circle', () => {
  const edges = [edge('a', 'x', 'b', 'y'), edge('b', 'y', 'c', 'z'), edge('c', 'z', 'b', 'y'), edge('a', 'x', 'd', 'other'), edge('e', 'q', 'f', 'r')];
  const { edges: found, ends } = pathThrough(edges, endKey('b', 'y'));
  expect([...found].sort()).toEqual(['a.x-b.y', 'b.y-c.z', 'c.z-b.y']);
  expect([...ends].sort()).toEqual([endKey('a', 'x'), endKey('b', 'y'), endKey('c', 'z')]);
});

test('a column without edges highlights nothing, and tells no listener', () => {
  const highlight = new Highlight({ tables: [], edges: [edge('a', 'x', 'b', 'y')], truncated: false });
  const listener = vi.fn();
  highlight.subscribe(listener);
  highlight.show(endKey('z', 'z'));
  expect([highlight.isActive(), listener.mock.calls.length]).toEqual([false, 0]);
  highlight.show(endKey('a', 'x'));
  expect([highlight.isActive(), highlight.hasEdge('a.x-b.y'), highlight.hasEnd(endKey('b', 'y')), listener.mock.calls.length]).toEqual([true, true, true, 1]);
  highlight.show(undefined);
  expect(highlight.isActive()).toBe(false);
});

test('tests come from the facet, failed ones first, and entries of another shape are ignored', () => {
  const assertions = [{ assertion: 'unique', column: 'id', success: true }, null, { success: 'yes' }, { name: 'not_null_id', assertion: 'not_null', column: 'id', success: false, expected: 0, actual: '1' }];
  expect(testsOf({ dataQualityAssertions: { assertions } }).map((each) => [each.name, each.column, each.passed, each.expected, each.actual])).toEqual([
    ['not_null_id', 'id', false, '0', '1'], ['unique', 'id', true, '', ''],
  ]); // prettier-ignore
  expect([testsOf({}), testsOf({ dataQualityAssertions: 'x' }), testsOf({ dataQualityAssertions: null })]).toEqual([[], [], []]);
});

const NOW = Date.parse('2026-03-10T12:00:00Z');
const item = (last_success: string | null) => ({ status: 'ok', last_success }) as Parameters<typeof healthMark>[1];

test.each([
  ['2026-03-10T00:00:00Z', 'good', '< 1 day'], ['2026-03-05T00:00:00Z', 'warn', '< 7 days'], ['2026-02-01T12:00:00Z', 'bad', '37 days'], [null, 'dim', 'never written'],
] as const)('a table written at %s is %s: %s', (last, tone, word) => expect(healthMark('freshness', item(last), NOW)).toEqual({ tone, word })); // prettier-ignore

const table = (namespace: string, name: string): PictureTable => ({
  id: `dataset:${namespace}/${name}`, kind: 'table', namespace, name, columns: [], more: 0, distance: 1, moreUp: 0, moreDown: 0, columnLineage: true, subject: false,
}); // prettier-ignore

test('tables fold by layer and by system; a table without a layer stays', () => {
  const picture: Picture = { tables: [table('s3://a', 'raw/x'), table('s3://b', 'raw/y'), table('kafka://k', 'topic')], edges: [], truncated: false };
  expect(collapse(picture, 'layer', new Set()).tables.map((each) => [each.id, each.name, each.datasets])).toEqual([['group:landing', 'landing', 2], ['dataset:kafka://k/topic', 'topic', undefined]]);
  expect(collapse(picture, 'system', new Set()).tables.map((each) => [each.id, each.datasets])).toEqual([['group:S3', 2], ['group:Kafka', 1]]);
  expect(picture.tables.map(systemIcon)).toEqual(['cloud', 'cloud', 'stream']);
});
