import { expect, inject, test } from 'vitest';

import { visible } from '../src/shown/invisible';
import { browsing, drawn, settled, wrong } from './browser';
import { HOSTILE } from './events';
import { at, PAGES, PATHS } from './places';

const url = inject('url');
const { open } = browsing();
const { namespace, names } = HOSTILE;
const EXPECTED = /404|400|status of 503/; // some pages have no dataset, run or column with this name

test.each(PATHS.map((path, number) => [path, names[number % names.length] ?? ''] as const))('/%s keeps its layout with hostile names at 1280 px, at 200 %% and at 390 px', async (path, name) => {
  const subject = { namespace, name, dataset: name, column: `${name} column`, id: '0195c000-0000-7000-8000-000000000001', q: 'column', job: `job ${name}`, tag: 'odd' };
  if (PAGES[path] !== `/${path}`) expect(await wrong(await open(`${url}/${path}`, { expected: EXPECTED }))).toEqual([]); // pages.test.ts tests the other pages
  expect(await wrong(await open(url + at(`/${path}`, subject), { expected: EXPECTED }))).toEqual([]);
});

test.each(names.map((name, number) => [number, name] as const))('name %i is shown completely and never executed', async (_, sent) => {
  const name = sent.replace('\ud800', '\ufffd');
  const page = await open(url + at('/dataset', { namespace, name: sent }), { expected: EXPECTED });
  await page.getByRole('table', { name: 'columns' }).waitFor();
  expect(await page.locator('h1').textContent()).toBe(name);
  expect((await page.title()).startsWith(visible(name))).toBe(true);
  const columns = await page.getByRole('table', { name: 'columns' }).getByRole('link').first().textContent();
  if (name.length < 4_000) expect(columns).toBe(`${name} column`);
  expect(await wrong(page)).toEqual([]);
  await page.goto(url + at('/lineage', { namespace, dataset: sent }));
  await page.setViewportSize({ width: 1280, height: 900 });
  await drawn(page);
  expect((await page.locator('.graph').boundingBox())?.y).toBeLessThan(500); // the graph is visible, however long the name is
  const whole = await page.locator('.node-head').evaluateAll((heads) => heads.map((head) => head.getAttribute('title')));
  if (name.length < 4_000) expect(whole).toContain(visible(`${namespace}/${name}`));
  expect(await wrong(page)).toEqual([]);
});

test('search finds hostile names and opens them', async () => {
  const page = await open(`${url}/search?q=onerror`);
  await settled(page);
  await page.getByRole('link', { name: names[0], exact: true }).first().click();
  await page.getByRole('heading', { name: names[0] }).waitFor();
});
