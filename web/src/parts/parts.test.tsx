import { fireEvent, render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, test, vi } from 'vitest';

import { key, isTransient, queryText, ApiError, request, Unreachable } from '../api/client';
import { Feed } from '../api/feed';
import { aliasesOf } from '../pages/aliases';
import { columnsOf } from '../pages/columns';
import { address, recent, remember, type Found } from '../shell/found';
import { csv } from './csv';
import { facetText } from './Facets';
import { duration, fieldOf, isoOf, tick, time } from './format';
import { shortName, to } from './links';
import { AboutList } from './HealthSection';
import { DatasetLink } from './Names';
import { Failure, NothingYet } from './States';
import { changed } from './useAddressState';

test.each([
  [350, '350 ms'], [1_000, '1 s'], [59_900, '59.9 s'], [125_000, '2 min 5 s'], [3_600_000, '1 h'], [273_600_000, '3 d 4 h'],
  [null, ''],
] as const)('%s ms is %s', (milliseconds, text) => expect(duration(milliseconds)).toBe(text)); // prettier-ignore

test('times are shown in UTC, and nothing where there is none', () => {
  expect(time('2026-03-01T12:00:20.500+01:00')).toBe('2026-03-01 11:00:20');
  expect([time(null), time('never')]).toEqual(['', '']);
  expect(isoOf(fieldOf('2026-03-01T12:00:20Z'))).toBe('2026-03-01T12:00:20.000Z');
  expect([isoOf(''), isoOf('x'), fieldOf(null), fieldOf('yesterday')]).toEqual(['', '', '', '']);
});

test('an axis over an hour has hours, over a week days and hours, over a year days', () => {
  expect([3_600, 604_800, 31_536_000].map((span) => tick('2026-03-01 12:00:20', span))).toEqual(['12:00', '03-01 12:00', '2026-03-01']);
});

test('CSV quotes what must be quoted and runs no formula', () => {
  expect(csv([['a', 'b,c', 'd"e', 'f\ng'], ['=SUM(A1)', -1, null, '@x']])).toBe(
    'a,"b,c","d""e","f\ng"\r\n' + "'=SUM(A1),-1,,'@x\r\n",
  );
});

test('a query leaves out what is empty and repeats lists', () => {
  expect(queryText({ a: '', b: undefined, c: null, d: ['x', 'y&z'], e: 0 })).toBe('?d=x&d=y%26z&e=0');
  expect(queryText({})).toBe('');
});

test('an address changes in place and drops what is empty', () => {
  const next = changed(new URLSearchParams('a=1&open=x&open=y&keep=2'), { a: '', open: ['z'], up: 0 });
  expect(next.toString()).toBe('keep=2&open=z&up=0');
});

test('what may pass is asked again, what may not is not', () => {
  expect([new Unreachable(), new ApiError(503, '', ''), new ApiError(404, '', ''), new Error('x')].map(isTransient)).toEqual([true, true, false, false]);
});

test('a hundred thousand messages leave two hundred, told a few times a second', () => {
  vi.useFakeTimers();
  const feed = new Feed(200);
  const run = { run: 'r', state: 'RUNNING', job: { namespace: 'n', name: 'j' }, started: null, ended: null };
  const listener = vi.fn();
  feed.subscribe(listener);
  for (let at = 0; at < 100_000; at += 1) feed.add({ id: String(at), kind: 'run', value: run });
  vi.advanceTimersByTime(1_000);
  expect([feed.newest().length, feed.newest()[0]?.id, feed.total, listener.mock.calls.length]).toEqual([200, '99999', 100_000, 1]);
  vi.useRealTimers();
});

const found = (more: Partial<Found>): Found => ({
  kind: 'dataset', namespace: 'n', name: 'a/b', column: null, tag: null, means: null, match: 'exact', uses: 0, last_seen: null, ...more,
}); // prettier-ignore

test('what is found leads to its page', () => {
  expect(address(found({}))).toBe('/dataset?namespace=n&name=a%2Fb');
  expect(address(found({ kind: 'job' }))).toBe('/job?namespace=n&name=a%2Fb');
  expect(address(found({ kind: 'column', column: 'c' }))).toBe('/column?namespace=n&dataset=a%2Fb&column=c');
  expect(address(found({ kind: 'alias', means: { namespace: 'm', dataset: 'd' } }))).toBe('/dataset?namespace=m&name=d');
  expect(to.run('x/y')).toBe('/run?id=x%2Fy');
});

test('what was opened of late is kept once, newest first, eight at most', () => {
  for (let at = 0; at < 12; at += 1) remember(found({ name: `t${at}` }));
  remember(found({ name: 't9' }));
  expect(recent().map((each) => each.name)).toEqual(['t9', 't11', 't10', 't8', 't7', 't6', 't5', 't4']);
  for (const broken of ['{broken', '{}', '[null, 1, {"kind": "job"}]']) {
    localStorage.setItem('headwater-recent', broken);
    expect(recent()).toEqual([]);
  }
});

test('columns are joined in any case, and those that only lineage knows are added', () => {
  const field = { name: 'Email', type: 'string', tags: ['pii'], description: null };
  const by = { transformationDescription: null, transformationType: 'IDENTITY' };
  const mail = { namespace: 'n', name: 'x/y/src', dataset: 'x/y/src', field: 'mail', transformations: [], ...by };
  const step = (type: 'DIRECT' | 'INDIRECT') => ({ type, subtype: 'JOIN', description: null, masking: false });
  const from = [mail, { ...mail, field: 'key', transformations: [step('INDIRECT')] }, { ...mail, field: 'name', transformations: [step('INDIRECT'), step('DIRECT')] }];
  const dataset = {
    namespace: 'n', name: 'd', fields: [field],
    columnLineage: [{ name: 'email', inputFields: from, ...by }, { name: 'gone', inputFields: [], ...by }],
  }; // prettier-ignore
  const verdict = { namespace: 'n', dataset: 'd', column: 'email', verdict: 'used' as const, reason: 'read by a job', caveats: [], read_by: [], read_before_recreation: false, shown_by: [], consumers: [], readers: 0, observed_since: null, last_used: null, earlier: false, readers_only: false };
  const surface = { namespace: 'n', dataset: 'other', column: 'email', exposure: 'exposed' as const, tagged: false, exposed_until: null, how: 'x', source: null, via: null, earlier: false };
  const rows = columnsOf(dataset, [verdict], {
    items: [surface, { ...surface, dataset: 'd', exposure: 'masked' }], sources: [{ namespace: 'n', dataset: 'd', column: 'GONE' }],
  }); // prettier-ignore
  expect(rows.map((row) => [row.name, row.madeOf, row.verdict, row.exposure])).toEqual([
    ['Email', ['y/src.mail', 'y/src.name'], 'used', 'masked'], ['gone', [], '', 'tagged'],
  ]); // prettier-ignore
});

test('aliases come from symlinks and from search, each once', () => {
  const facets = { symlinks: { identifiers: [{ namespace: 'hive', name: 'db.t' }] } };
  const alias = found({ kind: 'alias', namespace: 'hive', name: 'db.t', means: { namespace: 'n', dataset: 'd' } });
  expect(aliasesOf({ namespace: 'n', name: 'd' }, facets, [alias, { ...alias, name: 'x' }, { ...alias, means: null }])).toEqual(['hive/db.t', 'hive/x']);
});

test('names are short in lists, whole in titles, and text whatever they hold', () => {
  expect([shortName('a/b/c/d'), shortName('db.t'), shortName('/x')]).toEqual(['c/d', 'db.t', '/x']);
  render(<MemoryRouter><DatasetLink id={{ namespace: 'n', name: 'x/y/<b>bold</b>' }} /></MemoryRouter>);
  const link = screen.getByRole('link');
  expect([link.textContent, link.title, link.querySelector('b')]).toEqual(['<b>bold</b>', 'n/x/y/<b>bold</b>', null]);
});

test('where nothing is listed a link leads to what a producer needs', () => {
  render(<MemoryRouter><NothingYet>There are no runs yet.</NothingYet></MemoryRouter>);
  expect([document.body.textContent, screen.getByRole('link').getAttribute('href')]).toEqual(['There are no runs yet. Connect a producer to see data here.', '/connect']);
});

test('a failure says what, why and what is near', () => {
  render(<Failure error={new ApiError(404, 'Nothing is called x.', 'Search for it.', ['xy'])} />);
  expect(screen.getByRole('alert').textContent).toBe('Nothing is called x. Search for it.Similar names: xy');
});

test('a text inside facets is found, and undefined where there is none', () => {
  expect(facetText({ sql: { query: 'SELECT 1' } }, 'sql', 'query')).toBe('SELECT 1');
  expect([facetText({ sql: 'x' }, 'sql', 'query'), facetText(undefined, 'sql')]).toEqual([undefined, undefined]);
});

test('who may not ask or order can give another key, or leave it', () => {
  render(<Failure error={new ApiError(403, "Key 'loader' may not read.", 'Use a key with the role `read`.')} />);
  expect(key.prompt()).toBe(null);
  fireEvent.click(screen.getByRole('button', { name: 'Use another key' }));
  expect(key.prompt()).toEqual({ why: "Key 'loader' may not read. Use a key with the role `read`." });
  key.closePrompt();
  expect(key.prompt()).toBe(null);
});

test('another key is told of, and a question that was left comes back with it only', async () => {
  const refused = () => request('/x').catch(() => undefined);
  vi.stubGlobal('fetch', () => Promise.resolve(Response.json({}, { status: 401 })));
  const listener = vi.fn();
  const unsubscribe = key.onChange(listener);
  key.set('one');
  await refused();
  expect(key.prompt()).not.toBe(null);
  key.closePrompt();
  await refused();
  expect([key.prompt(), key.get()]).toEqual([null, 'one']);
  key.forget();
  await refused();
  expect([key.prompt()?.why, key.get(), listener.mock.calls.length]).toEqual(['This server requires a key.', null, 2]);
  key.closePrompt();
  unsubscribe();
});

test('of a long description the beginning is shown, and all of it when asked', () => {
  const long = '\u{1F389}'.repeat(5_000);
  const about = { description: long, owners: [], source: null, tags: [] };
  const { container, rerender } = render(<AboutList about={about} />);
  expect(container.querySelector('bdi')?.textContent).toBe(`${'\u{1F389}'.repeat(400)} …`);
  fireEvent.click(screen.getByRole('button', { name: 'more (5,000 characters)' }));
  expect(container.querySelector('bdi')?.textContent).toBe(long);
  rerender(<AboutList about={{ ...about, description: 'x'.repeat(400) }} />);
  expect([container.querySelector('bdi')?.textContent.length, screen.queryByRole('button')]).toEqual([400, null]);
});
