import { afterAll, beforeAll, expect, test } from 'vitest';

import { barriers, browsing, settled } from './browser';
import { Headwater } from './headwater';

const KEYS = [
  { name: 'reader', key: 'of-a-reader', roles: ['read'] },
  { name: 'both', key: 'of-both-roles', roles: ['read', 'write'] },
];
const headwater = new Headwater({ HEADWATER_KEYS: JSON.stringify(KEYS) });
const { open } = browsing();

beforeAll(() => headwater.start());
afterAll(() => headwater.end());

test('an empty lake offers what to copy, explains a refusal, sends a test event and shows it as it comes', async () => {
  const page = await open(`${headwater.url}/health/ready`, { expected: /401|403|404/ });
  const useKey = (key: string) => page.evaluate((value) => sessionStorage.setItem('headwater-key', value), key);
  await useKey('of-a-reader');
  await page.goto(headwater.url);
  await page.getByRole('button', { name: 'curl' }).click();
  await page.getByRole('region', { name: 'curl' }).getByText(`curl --fail-with-body ${headwater.url}/api/v1/lineage`).waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByRole('alert').getByText('write').first().waitFor();

  await useKey('of-both-roles');
  await page.reload();
  await page.locator('.live-mark.is-live').waitFor();
  await page.getByRole('button', { name: 'Send a test event' }).click();
  const run = await page.getByRole('status').getByRole('link').first().textContent();
  await page.locator('.feed').getByText('arrival-check').first().waitFor();
  await page.locator('.feed').getByRole('link', { name: run ?? 'none' }).first().waitFor();
  await page.getByText('1 in the window').waitFor();
  expect(await page.getByRole('heading', { name: 'Point a producer here' }).count()).toBe(1);
});

test('what was copied is what is shown', async () => {
  const page = await open(`${headwater.url}/health/ready`, { expected: /401|403|404/ });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate(() => sessionStorage.setItem('headwater-key', 'of-both-roles'));
  await page.goto(`${headwater.url}/connect?producer=spark-submit`);
  await settled(page);
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied').waitFor();
  const shown = await page.getByRole('region', { name: 'spark-submit' }).textContent();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(shown);
  expect(shown).toContain(headwater.url);
});
