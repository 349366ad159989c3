import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';

import { visible } from '../src/shown/odd';
import { browsing, drawn, settled } from './browser';
import { HOSTILE } from './events';
import { at, PATHS } from './places';

const url = inject('url');
const { open } = browsing();
const { namespace, names } = HOSTILE;
const EXPECTED = /404|400|status of 503/; // not every page knows a dataset, a run and a column of a name

/** Widths (px), and of 200 % zoom on a window of 1280. */
const SIZES = [1280, 640, 390];

/** What of a page is wrong, whatever names it shows. */
async function wrong(page: Page): Promise<string[]> {
  await settled(page);
  const found: string[] = [];
  for (const width of SIZES) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, Math.max(...[...document.querySelectorAll('h1, .main > *')].map((each) => each.getBoundingClientRect().right))]);
    if (wide.some((each) => each > width + 1)) found.push(`wider than ${width}: ${wide.join()}`);
  }
  const inside = await page.evaluate(() => [document.querySelectorAll('.main img, .main script, .main iframe, .main a[href^="javascript:" i]').length, document.body.textContent.includes('This page failed')]);
  return [...found, ...(inside[0] ? ['it has elements of a name'] : []), ...(inside[1] ? ['it failed'] : [])];
}

test.each(PATHS.map((path, number) => [path, names[number % names.length] ?? ''] as const))('/%s holds whatever names it shows, at 1280 px, at 200 %% and at 390 px', async (path, name) => {
  const subject = { namespace, name, dataset: name, column: `${name} column`, id: '0195c000-0000-7000-8000-000000000001', q: 'column', job: `job ${name}`, tag: 'odd' };
  expect(await wrong(await open(`${url}/${path}`, { expected: EXPECTED }))).toEqual([]);
  expect(await wrong(await open(url + at(`/${path}`, subject), { expected: EXPECTED }))).toEqual([]);
});

test.each(names.map((name, number) => [number, name] as const))('name %i is shown whole and never runs', async (_, sent) => {
  const name = sent.replace('\ud800', '\ufffd');
  const page = await open(url + at('/dataset', { namespace, name: sent }), { expected: EXPECTED });
  await page.getByRole('table', { name: 'columns' }).waitFor();
  expect(await page.locator('h1').textContent()).toBe(name);
  expect((await page.title()).startsWith(visible(name))).toBe(true);
  const columns = await page.getByRole('table', { name: 'columns' }).getByRole('link').first().textContent();
  if (name.length < 4_000) expect(columns).toBe(`${name} column`);
  expect(await wrong(page)).toEqual([]);
  await page.goto(url + at('/lineage', { namespace, dataset: sent }));
  await drawn(page);
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
