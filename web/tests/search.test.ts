import { expect, inject, test } from 'vitest';

import { barriers, browsing, settled } from './browser';

const url = inject('url');
const { open } = browsing();

test('Ctrl-K and three letters find a column, and the keyboard alone opens it', async () => {
  const page = await open(`${url}/settings`);
  await settled(page);
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Jobs, datasets').waitFor();
  await page.keyboard.type('ema');
  const hit = page.getByRole('menuitem').filter({ hasText: 'customer_email' }).first();
  await hit.waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.keyboard.press('ArrowDown');
  for (let presses = 0; presses < 20 && (await hit.getAttribute('data-focused')) === null; presses += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await settled(page);
  await page.getByRole('heading', { name: /^customer_email in / }).waitFor();
  expect(new URL(page.url()).searchParams.get('column')).toBe('customer_email');
  await page.keyboard.press('Control+k');
  expect(await page.getByRole('menuitem').first().textContent()).toContain('customer_email');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('a slash opens the search, but is typed as a slash in a text field', async () => {
  const page = await open(`${url}/unused`, { expected: /404/ });
  await settled(page);
  await page.getByLabel('Dataset').focus();
  await page.keyboard.type('/');
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.getByRole('heading', { name: 'Unused columns' }).click();
  await page.keyboard.press('/');
  await page.getByRole('dialog', { name: 'Search' }).waitFor();
});

test('a search without results says so', async () => {
  const page = await open(`${url}/settings`);
  await settled(page);
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Jobs, datasets').waitFor();
  await page.keyboard.type('zzzqqqxxx');
  await page.getByText('No results.').waitFor();
});
