// The pictures of docs/dashboard.md: every page of the routes' table and the cases below, light and dark, on the recorded
// pipeline's lake. `npm run tools bench/screenshots.ts -- -t NAME` makes some of them.
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
}, 300_000);
afterAll(() => headwater.end());

const SEARCH = async (page: Page) => {
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Jobs, datasets').waitFor();
  await page.keyboard.type('ema');
  await page.getByRole('menuitem').first().waitFor();
};

type Case = [address: string, act?: (page: Page) => Promise<void>];

/** Views that are no page of their own; those that need a lake of their own belong here with what makes it. */
const CASES: Record<string, Case> = {
  search: ['/settings', SEARCH],
  columns: [at('/lineage', { ...EMAIL, mode: 'any' })],
  compare: [at('/lineage', { ...SILVER, up: '2', down: '2', since: '2026-11-21T10:44:30.000Z' })],
};

const PICTURES: Record<string, Case> = { ...Object.fromEntries(Object.entries(PAGES).map(([name, address]) => [name, [address] as Case])), ...CASES };

test.each(Object.keys(PICTURES))('%s', async (name) => {
  const [path, act] = PICTURES[name] ?? [''];
  const page = await open(headwater.url + path, { ...SIZE, expected: /404|400/ });
  for (const theme of ['light', 'dark']) {
    await page.evaluate((chosen) => localStorage.setItem('headwater-theme', chosen), theme);
    await page.reload();
    await settled(page);
    if (path.startsWith('/lineage')) await drawn(page);
    await act?.(page);
    await page.evaluate(() => document.fonts.ready);
    await page.waitForTimeout(500); // charts and fitting into sight have no event of their own
    await page.screenshot({ path: join(ROOT, `docs/images/${name}${theme === 'dark' ? '-dark' : ''}.png`) });
  }
});
