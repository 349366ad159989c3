import { expect, inject, test } from 'vitest';

import { barriers, browsing, contrasts, drawn, settled, wrong } from './browser';
import { ask } from './headwater';
import { APPLICATION, at, PAGES } from './places';

const url = inject('url');
const { open } = browsing();

const HEIGHT = 740;

test.each(Object.keys(PAGES))('%s is usable on a small screen and at 200 %%, and accessible in the light and dark theme', async (name) => {
  const page = await open(url + (PAGES[name] ?? ''), { width: 390, height: HEIGHT, expected: /404|400/ });
  expect(await wrong(page)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await settled(page);
  if (/\/lineage|\/job-graph/.test(page.url())) await drawn(page);
  expect(await page.title()).toContain('Headwater');
  expect(await barriers(page)).toEqual([]);
  await page.getByRole('button', { name: 'Use dark colours' }).click();
  expect(await contrasts(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: HEIGHT });
  await page.getByRole('button', { name: 'Pages' }).click();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
});

test.each(['columns', 'job-graph'])('%s: the graph is visible on a small screen, and its options are behind a button', async (name) => {
  const page = await open(url + (PAGES[name] ?? ''), { width: 390, height: HEIGHT });
  await settled(page);
  await drawn(page);
  expect((await page.locator('.graph').boundingBox())?.y).toBeLessThan(HEIGHT / 2);
  const asked = page.getByRole('group', { name: 'Display options' });
  expect(await asked.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Display options' }).click();
  await asked.getByRole('button', { name: 'SVG' }).waitFor();
  expect(await wrong(page)).toEqual([]);
});

test('the settings page shows the current settings read-only', async () => {
  const page = await open(`${url}/settings`);
  const row = page.getByRole('row').filter({ has: page.getByText('tick_s', { exact: true }) });
  expect(await row.textContent()).toContain('0.05');
});

test('the page of a run lists its child runs', async () => {
  const page = await open(url + at('/run', { id: APPLICATION }));
  const { children } = await ask<{ children: { id: string }[] }>(url, `runs/${APPLICATION}/lineage`);
  expect(children.length).toBeGreaterThan(0);
  const tree = page.getByRole('region', { name: 'Hierarchy' });
  await tree.getByText(`${children.length} children:`).waitFor();
  await tree.getByRole('link', { name: children[0]?.id.slice(0, 13) }).first().waitFor();
});
