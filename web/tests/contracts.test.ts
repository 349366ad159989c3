import type { Download } from 'playwright-core';
import { expect, inject, test } from 'vitest';

import { browsing, settled } from './browser';
import { BRONZE, datasetAt } from './places';

const url = inject('url');
const { open } = browsing();

/** The browser runs in another process, so a saved file is read as a stream. */
async function read(saved: Download): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of await saved.createReadStream()) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

test('the page lists contracts with their state, and a broken one links to the run that broke it', async () => {
  const page = await open(`${url}/contracts`);
  await settled(page);
  const listed = page.getByRole('table', { name: 'contracts' }).getByRole('row');
  const states = await Promise.all(['kept.yml', 'broken.yml', 'unreadable.yml', 'policies.yml'].map((name) => listed.filter({ hasText: name }).textContent()));
  expect(states.map((text) => /kept(?!\.)|broken(?!\.)|unreadable(?!\.)/.exec(text ?? '')?.[0])).toEqual(['kept', 'broken', 'unreadable', 'broken']);
  expect(states[2]).toContain('is not valid YAML');
  const breaks = page.getByRole('table', { name: 'breaks' }).getByRole('row');
  await breaks.filter({ hasText: 'column.removed' }).filter({ hasText: 'bronze/customers#fax' }).waitFor();
  const retyped = breaks.filter({ hasText: 'column.retyped' });
  expect(await retyped.textContent()).toContain('broken.yml');
  await retyped.getByRole('link').first().click();
  await page.getByRole('heading', { name: /^Run/ }).first().waitFor();
  expect(page.url()).toContain('/run?');
});

test('the page of a dataset saves its contract as a file', async () => {
  const page = await open(url + datasetAt(BRONZE));
  await settled(page);
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Contract', exact: true }).click()]);
  expect(saved.suggestedFilename()).toMatch(/\.yml$/);
  const text = await read(saved);
  expect(text).toContain('kind: DataContract');
  expect(text).toContain('name: customer_email');
});
