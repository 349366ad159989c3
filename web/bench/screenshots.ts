// Takes the pictures for docs/reference/dashboard.md: every page of the route table and the cases below, in light and dark,
// on the recorded pipeline or on a wide and deep lake. `npm run tools bench/screenshots.ts -- -t NAME` takes only some.
import { join } from 'node:path';

import type { Page } from 'playwright-core';
import { test } from 'vitest';

import { browsing, drawn, settled } from '../tests/browser';
import { circle, consumers, inputs, layers, tables, WIDE } from '../tests/cases';
import { recorded } from '../tests/events';
import { ROOT } from '../tests/headwater';
import { at, EMAIL, PAGES, SILVER } from '../tests/places';
import { serversOf } from './lakes';

const { open } = browsing();
const SIZE = { width: 1280, height: 760 };
const WHOLE = { width: 1280, height: 1040 }; // includes the minimap in the corner

/** The events of each Headwater. A Headwater starts when its first picture is taken. */
const LAKES = {
  recorded,
  wide: () => [...consumers(500), ...inputs(1_000), ...layers(30), ...circle(), ...tables(2_000)],
} as const;
type Lake = keyof typeof LAKES;
const lake = serversOf<Lake>(LAKES);

const SEARCH = async (page: Page) => {
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Jobs, datasets').waitFor();
  await page.keyboard.type('ema');
  await page.getByRole('menuitem').first().waitFor();
};

/** Open the list of a folded box. */
const FOLDED = async (page: Page) => {
  await page.getByRole('button', { name: 'List', exact: true }).first().click();
  await page.locator('.panel').waitFor();
};

interface Case {
  address: string;
  act?: (page: Page) => Promise<void>;
  of?: Lake;
}

const ALL_AROUND = { up: '1000', down: '1000' };
const around = (dataset: string, more: Record<string, string> = {}): string => at('/lineage', { namespace: WIDE, dataset, ...more });

/** Views that do not have a separate page. */
const CASES: Record<string, Case> = {
  search: { address: '/settings', act: SEARCH },
  columns: { address: at('/lineage', { ...EMAIL, mode: 'any' }) },
  compare: { address: at('/lineage', { ...SILVER, up: '2', down: '2', since: '2026-11-21T10:44:30.000Z' }) },
  'consumers-500': { address: around('core/orders'), of: 'wide' },
  'consumers-500-listed': { address: around('core/orders'), of: 'wide', act: FOLDED },
  'inputs-1000': { address: around('core/all_sales'), of: 'wide' },
  'layers-30': { address: around('deep/step_15', ALL_AROUND), of: 'wide' },
  'tables-2000': { address: at('/lineage', { namespace: 's3://many', dataset: 'schema_0/t0', ...ALL_AROUND }), of: 'wide' },
  'tables-2000-unfolded': { address: at('/lineage', { namespace: 's3://many', dataset: 'schema_0/t0', ...ALL_AROUND, stacks: 'open' }), of: 'wide' },
  'map-2000': { address: '/lineage?group=lakehouse', of: 'wide' },
  circles: { address: around('circle/a', { up: '3', down: '3' }), of: 'wide' },
};

const PICTURES: Record<string, Case> = { ...Object.fromEntries(Object.entries(PAGES).filter(([name]) => name !== 'design').map(([name, address]) => [name, { address }])), ...CASES };

test.each(Object.keys(PICTURES))('%s', async (name) => {
  const { address: path, act, of = 'recorded' } = PICTURES[name] ?? { address: '' };
  const page = await open((await lake(of)).url + path, { ...(of === 'wide' ? WHOLE : SIZE), expected: /404|400/ });
  for (const theme of ['light', 'dark']) {
    await page.evaluate((chosen) => localStorage.setItem('headwater-theme', chosen), theme);
    await page.reload();
    await settled(page);
    if (path.startsWith('/lineage')) await drawn(page);
    await act?.(page);
    await page.evaluate(() => document.fonts.ready);
    await page.waitForTimeout(500); // charts and fitting the graph into the view send no event
    await page.screenshot({ path: join(ROOT, `docs/images/${name}${theme === 'dark' ? '-dark' : ''}.png`) });
  }
});
