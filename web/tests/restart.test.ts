// Tests the page across a restart of Headwater, with the same build and with a different one.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { browsing, drawn, settled } from './browser';
import { recorded } from './events';
import { Headwater, ROOT } from './headwater';
import { at, EMAIL } from './places';

const EXPECTED = /ERR_|Failed to fetch|404|status of 5|Unable to preload/;
const environment: Record<string, string> = {};
const headwater = new Headwater(environment);
const { open } = browsing();
const newer = mkdtempSync(join(tmpdir(), 'headwater-newer-'));

beforeAll(async () => {
  anotherBuild(newer);
  await headwater.start();
  await headwater.post(recorded());
});
afterAll(async () => {
  await headwater.end();
  rmSync(newer, { recursive: true, force: true });
});

/** Prepare the same Headwater with a page whose files have different hashes, as after an upgrade. */
function anotherBuild(folder: string): void {
  const [from, to] = [join(ROOT, 'headwater'), join(folder, 'headwater')];
  mkdirSync(join(to, 'api'), { recursive: true });
  for (const name of readdirSync(from)) if (name !== 'api') symlinkSync(join(from, name), join(to, name));
  for (const name of readdirSync(join(from, 'api'))) if (name !== 'web') symlinkSync(join(from, 'api', name), join(to, 'api', name));
  cpSync(join(from, 'api', 'web'), join(to, 'api', 'web'), { recursive: true });
  const assets = join(to, 'api/web/assets/assets');
  const names = readdirSync(assets).map((name) => [name, name.replace(/-([\w-]{8})\./, (_, hash: string) => `-${hash.slice(4)}${hash.slice(0, 4)}.`)] as const);
  const texts = [join(to, 'api/web/assets/index.html'), ...names.map(([name]) => join(assets, name)).filter((each) => /\.(js|css)$/.test(each))];
  for (const file of texts) writeFileSync(file, names.reduce((text, [name, other]) => text.replaceAll(name, other), readFileSync(file, 'utf8')));
  for (const [name, other] of names) renameSync(join(assets, name), join(assets, other));
}

const mark = (page: Page) => page.evaluate(() => Object.assign(window, { sameWindow: true }));
const isMarked = (page: Page) => page.evaluate(() => 'sameWindow' in window);

test('a part that could not be loaded is loaded after the restart without a reload; until then the old page stays', async () => {
  const pages = await Promise.all(['/settings', '/settings', '/settings'].map((path, profile) => open(headwater.url + path, { expected: EXPECTED, profile })));
  const [coverage, graph, search] = pages as [Page, Page, Page];
  for (const page of pages) {
    await settled(page);
    await mark(page);
  }
  await headwater.stop();
  await coverage.getByRole('link', { name: 'Coverage' }).click();
  await graph.getByRole('link', { name: 'Lineage', exact: true }).click();
  await search.keyboard.press('Control+k');
  for (const page of pages) {
    await page.getByText('Part of this page could not be loaded').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Settings');
  }
  await headwater.start();
  await coverage.getByRole('heading', { name: 'Coverage' }).waitFor();
  await drawn(graph);
  await search.getByPlaceholder('Jobs, datasets').waitFor();
  for (const page of pages) {
    expect(await isMarked(page)).toBe(true);
    await page.getByText('Part of this page could not be loaded').waitFor({ state: 'detached' });
  }
}, 120_000);

test('a graph is laid out on the main thread if its layout worker cannot be loaded', async () => {
  const page = await open(`${headwater.url}/settings`, { expected: EXPECTED, profile: 4 });
  await settled(page);
  let refused = 0;
  await page.route('**/layoutWorker*', (route) => {
    refused += 1;
    return route.abort();
  });
  await page.getByRole('link', { name: 'Lineage', exact: true }).click();
  await drawn(page);
  expect(refused).toBe(1);
});

test('the page announces an upgrade, and a reload opens the page that the user wanted', async () => {
  const way = at('/lineage', EMAIL);
  const [idle, going] = [await open(headwater.url + way, { expected: EXPECTED }), await open(`${headwater.url}/settings`, { expected: EXPECTED })];
  await drawn(idle);
  await settled(going);
  await headwater.stop();
  await going.getByRole('link', { name: 'Personal data' }).click();
  environment.PYTHONPATH = newer;
  await headwater.start();
  for (const page of [idle, going]) await page.getByText('Headwater was updated').waitFor();
  expect(await going.getByRole('heading', { level: 1 }).textContent()).toBe('Settings');
  await going.getByRole('button', { name: 'Reload' }).click();
  await going.getByRole('heading', { name: 'Personal data' }).waitFor();
  await idle.getByRole('button', { name: 'Reload' }).click();
  await idle.getByText('Headwater was updated').waitFor({ state: 'detached' });
  await drawn(idle);
  expect(new URL(idle.url()).searchParams.get('column')).toBe(EMAIL.column);
}, 120_000);
