// The pictures of docs/dashboard.md: each page on the recorded pipeline's lake.
import { join } from 'node:path';

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, test } from 'vitest';

import { browsing, drawn, settled } from '../tests/browser';
import { recorded } from '../tests/events';
import { Headwater, ROOT, SINKS } from '../tests/headwater';
import { at, EMAIL, PAGES, SILVER } from '../tests/places';

const headwater = new Headwater({}, SINKS);
const { open } = browsing();
const SIZE = { width: 1280, height: 760 };

beforeAll(async () => {
  await headwater.start();
  await headwater.post(recorded());
});
afterAll(() => headwater.end());

const DARK = async (page: Page) => page.getByRole('button', { name: 'Use dark colours' }).click();
const SEARCH = async (page: Page) => {
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Jobs, datasets').waitFor();
  await page.keyboard.type('ema');
  await page.getByRole('menuitem').first().waitFor();
};

const PICTURES: Record<string, [string, ((page: Page) => Promise<void>)?]> = {
  overview: [PAGES.overview ?? ''],
  search: ['/settings', SEARCH],
  map: [PAGES.map ?? ''],
  tables: [PAGES.tables ?? ''],
  columns: [at('/lineage', { ...EMAIL, mode: 'any' })],
  compare: [at('/lineage', { ...SILVER, up: '2', down: '2', since: '2026-11-21T10:44:30.000Z' })],
  dark: [PAGES.columns ?? '', DARK],
  ...Object.fromEntries(['dataset', 'job', 'run', 'surface', 'unused', 'diff', 'coverage', 'events', 'rejected', 'sinks', 'settings'].map((name) => [name, [PAGES[name] ?? '']])),
};

test.each(Object.keys(PICTURES))('%s', async (name) => {
  const [path, act] = PICTURES[name] ?? [''];
  const page = await open(headwater.url + path, { ...SIZE, expected: /404/ });
  await settled(page);
  if (path.startsWith('/lineage')) await drawn(page);
  await act?.(page);
  await page.evaluate(() => document.fonts.ready);
  await page.waitForTimeout(500); // charts and fitting into sight have no event of their own
  await page.screenshot({ path: join(ROOT, `docs/images/${name}.png`) });
});
