import { afterAll, beforeAll, expect, test } from 'vitest';

import { barriers, browsing, drawn, settled } from './browser';
import { run } from './events';
import { Headwater, until } from './headwater';
import { at } from './places';

const KEY = 'viewer-key-1';
const KEYS = JSON.stringify([
  { name: 'tests', key: KEY, roles: ['read', 'write', 'admin'] }, { name: 'loader', key: 'loader-key-1', roles: ['write'] },
  { name: 'reader', key: 'reader-key-1', roles: ['read'] }, { name: 'both', key: 'both-key-1', roles: ['read', 'write'] }]); // prettier-ignore
const BEARER = { authorization: `Bearer ${KEY}` };
const [RAW, CLEAN, GOLD] = ['raw', 'clean', 'gold'].map((name) => ({ namespace: 's3://live', name })) as [Named, Named, Named];
interface Named {
  namespace: string;
  name: string;
}

const headwater = new Headwater({ HEADWATER_KEYS: KEYS });
const { open } = browsing();
const EXPECTED = /401|403|404|503|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;

beforeAll(() => headwater.start());
afterAll(() => headwater.end());

test('an empty lake offers commands to copy, explains a rejection, sends a test event and shows it live', async () => {
  const page = await open(`${headwater.url}/health/ready`, { expected: /401|403|404/ });
  const useKey = (key: string) => page.evaluate((value) => sessionStorage.setItem('headwater-key', value), key);
  await useKey('reader-key-1');
  await page.goto(headwater.url);
  await page.getByRole('button', { name: 'curl' }).click();
  await page.getByRole('group', { name: 'curl' }).getByText(`curl --fail-with-body ${headwater.url}/api/v1/lineage`).waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByRole('alert').getByText('write').first().waitFor();

  await useKey('both-key-1');
  await page.reload();
  await page.locator('.live-mark.is-live').waitFor();
  await page.getByRole('button', { name: 'Send a test event' }).click();
  const run = await page.getByRole('status').getByRole('link').first().textContent();
  await page.locator('.feed').getByText('arrival-check').first().waitFor();
  await page.locator('.feed').getByRole('link', { name: run ?? 'none' }).first().waitFor();
  await page.getByRole('heading', { name: 'The first event has arrived' }).waitFor();
  expect(await page.getByRole('heading', { name: 'Configure a producer' }).count()).toBe(1);
});

test('the copied text is the shown text', async () => {
  const page = await open(`${headwater.url}/health/ready`, { expected: /401|403|404/ });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate(() => sessionStorage.setItem('headwater-key', 'both-key-1'));
  await page.goto(`${headwater.url}/connect?producer=spark-submit`);
  await settled(page);
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied').waitFor();
  const shown = await page.getByRole('group', { name: 'spark-submit' }).textContent();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(shown);
  expect(shown).toContain(headwater.url);
});

test('the page asks for a key, keeps it in the tab, and shows new events without a reload', async () => {
  await headwater.post([run('clean', RAW, CLEAN, { mail: 'mail' }, '2026-11-21T10:00:00Z')], BEARER);
  const page = await open(`${headwater.url}/`, { expected: EXPECTED });
  await page.getByRole('dialog', { name: 'Key' }).waitFor();
  await page.getByRole('textbox', { name: 'Key' }).fill('not-the-key');
  await page.keyboard.press('Enter');
  await page.getByText('The server rejected this key').waitFor();
  await page.getByRole('textbox', { name: 'Key' }).fill(KEY);
  await page.keyboard.press('Enter');
  await page.getByText('Events per minute').waitFor();
  await page.getByText('Live', { exact: true }).first().waitFor();
  await page.getByText('Connecting').waitFor({ state: 'detached' });
  await page.locator('.live-mark.is-live').waitFor();
  await headwater.post([run('to_gold', CLEAN, GOLD, { mail: 'mail' }, '2026-11-21T11:00:00Z')], BEARER);
  await page.locator('.feed').getByRole('link', { name: 'to_gold' }).first().waitFor();
  await page.locator('.feed').getByText('appeared').first().waitFor();
  await page.getByText('3 in this period').waitFor();
  expect(await page.evaluate(() => [localStorage.length, sessionStorage.getItem('headwater-key')])).toEqual([0, KEY]);
});

test('a key without the needed role shows its name and roles, and can be replaced', async () => {
  const page = await withKey('/coverage', 0, 'loader-key-1');
  await page.getByRole('button', { name: 'loader · write' }).waitFor();
  await page.locator('.live-mark.is-refused').waitFor();
  await page.getByRole('button', { name: 'Use another key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Key' });
  expect(await dialog.textContent()).toContain("You are loader with the role write.Key 'loader' may not read. Use a key with the role `read`.");
  expect(await barriers(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'loader · write' }).click();
  await dialog.getByLabel('Another key').fill(KEY);
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'coverage' }).waitFor();
  await page.getByRole('button', { name: 'tests · admin, read, write' }).click();
  await page.locator('.live-mark.is-live').waitFor();
  await dialog.getByRole('button', { name: 'Forget key' }).click();
  await dialog.getByText('This server requires a key.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByText('The key is missing or wrong.').waitFor();
  await page.getByRole('button', { name: 'Enter a key', exact: true }).waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem('headwater-key'))).toBe(null);
});

test('/docs opens without a key, accepts one, and does not put it into its URL', async () => {
  const page = await open(`${headwater.url}/docs`, { expected: EXPECTED });
  await page.getByText('The key is missing or wrong.').waitFor();
  await page.getByLabel('Key with the role').fill('loader-key-1');
  await page.keyboard.press('Enter');
  await page.getByText('Signed in as loader with the roles write.').waitFor();
  await page.getByText("Key 'loader' may not read.").waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.goto(`${headwater.url}/docs?code=${KEY}`);
  await page.getByText('Signed in as tests with the roles admin, read, write.').waitFor();
  expect(page.url()).toBe(`${headwater.url}/docs`);
  const settings = page.locator('details').filter({ has: page.getByText('/api/headwater/v1/settings', { exact: true }) });
  await settings.locator('summary').first().click();
  await settings.getByRole('button', { name: 'Ask' }).click();
  await settings.getByText(/^200/).waitFor();
  expect(await barriers(page)).toEqual([]);
});

test('an open graph shows new events', async () => {
  const page = await withKey('/settings');
  await page.goto(headwater.url + at('/lineage', { namespace: RAW.namespace, dataset: RAW.name, up: '0', down: '5' }));
  await drawn(page);
  await page.locator('.live-mark.is-live').waitFor();
  const before = await page.locator('.react-flow__node').count();
  await headwater.post([run('onward', GOLD, { namespace: 's3://live', name: 'export' }, { mail: 'mail' }, '2026-11-21T12:00:00Z')], BEARER);
  await until(async () => (await page.locator('.react-flow__node').count()) === before + 1);
});

test('while the index is suspended, the overview shows where events wait and every page shows the delay', async () => {
  const goOn = headwater.hold('index');
  try {
    const json = { 'content-type': 'application/json', ...BEARER };
    const late = run('late', CLEAN, { namespace: 's3://live', name: 'late' }, { mail: 'mail' }, '2026-11-21T13:00:00Z');
    await fetch(`${headwater.url}/api/v1/lineage`, { method: 'POST', headers: json, body: JSON.stringify(late) });
    const unknown = await withKey(at('/dataset', { namespace: 's3://live', name: 'late' }));
    await unknown.getByText('answers are behind by').first().waitFor();
    const overview = await withKey('/');
    await overview.getByText('it waits in the lake').waitFor();
    await overview.getByRole('status').getByText(/^Answers are .* behind$/).waitFor();
    goOn();
    await unknown.getByText('answers are behind by').first().waitFor({ state: 'detached' });
    await overview.getByText('answers include every event').waitFor();
    await overview.getByText(/^Answers are .* behind$/).waitFor({ state: 'detached' });
  } finally {
    goOn();
  }
});

test('each page reports that Headwater does not respond, and recovers after its restart', async () => {
  const paths = ['/', '/lineage', '/surface', '/unused', '/coverage', '/events', '/rejected', '/settings', '/diff?from=2026-11-01T00:00:00Z', '/search?q=mail',
    at('/dataset', { namespace: CLEAN.namespace, name: CLEAN.name }), at('/job', { namespace: 'tests', name: 'clean' }), at('/run', { id: '0195c000-0000-7000-8000-000000000001' })];
  const pages = [];
  for (const [at, path] of paths.entries()) pages.push(await withKey(path, Math.floor(at / 4)));
  await headwater.stop();
  for (const each of pages) await each.getByText('Headwater does not respond').first().waitFor();
  await headwater.start();
  for (const each of pages) {
    await each.locator('.live-mark.is-live').waitFor();
    await each.getByText('Headwater does not respond').first().waitFor({ state: 'detached' });
  }
}, 180_000);

test('the start page counts failed runs, and the page of a table shows why its first run failed', async () => {
  const [hours, never] = [5, { namespace: 's3://live', name: 'never' }];
  const night = Array.from({ length: 16 }, (_, number) => {
    const sent = run(`night_${number}`, RAW, { ...never, name: number ? `never_${number}` : never.name }, {}, new Date(Date.now() - hours * 3_600_000).toISOString());
    const error = { _producer: 'https://example.com/tests', _schemaURL: 'https://example.com/facet.json', message: `no space on disk ${number}`, programmingLanguage: 'SQL' };
    return { ...sent, eventType: 'FAIL', run: { ...(sent.run as object), facets: { errorMessage: error } }, inputs: [RAW], outputs: [{ ...never, name: number ? `never_${number}` : never.name }] };
  });
  await headwater.post(night, BEARER);
  const page = await withKey('/', 1);
  const card = page.locator('.stat', { hasText: 'Failed runs' });
  await card.getByText('16', { exact: true }).waitFor();
  expect(await page.getByLabel('Period').inputValue()).toBe('24h');
  await page.goto(`${headwater.url}${at('/dataset', never)}`);
  const health = page.getByRole('region', { name: 'Health' });
  await health.getByText('never written', { exact: true }).waitFor();
  await health.getByRole('table', { name: 'failed-runs' }).getByText('no space on disk 0').waitFor();
  await settled(page);
  expect(await barriers(page)).toEqual([]);
  await page.goto(`${headwater.url}/health`);
  await page.getByRole('table', { name: 'health' }).getByText('no space on disk 15; the newest run is FAIL').waitFor();
});

async function withKey(path: string, profile = 0, key = KEY) {
  const page = await open(`${headwater.url}/health/live`, { expected: EXPECTED, profile });
  await page.evaluate((mine) => sessionStorage.setItem('headwater-key', mine), key);
  await page.goto(headwater.url + path);
  await settled(page);
  return page;
}
