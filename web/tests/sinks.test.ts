import { expect, inject, test } from 'vitest';

import { browsing, settled } from './browser';

const url = inject('url');
const { open } = browsing();

test('the page lists a working and a failing sink, and pauses and resumes them', async () => {
  const page = await open(`${url}/sinks?sink=archive`);
  await settled(page);
  const row = (name: string) => page.getByRole('table', { name: 'sinks' }).getByRole('row').filter({ has: page.getByRole('link', { name }) });
  await row('archive').getByText('caught up').waitFor();
  await row('catalog').getByText('127.0.0.1:9').waitFor();
  await page.getByText('This sink delivers events unchanged').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await row('archive').getByText('paused').waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await row('archive').getByText('caught up').waitFor();
});

test('losses of a target are counted for the newest events and for a run', async () => {
  const page = await open(`${url}/sinks?sink=catalog`, { expected: /404/ });
  await settled(page);
  const losses = page.getByRole('table', { name: 'losses' });
  await losses.getByRole('row').filter({ hasText: 'output facet' }).first().waitFor();
  await page.getByLabel('Run').fill('nothing');
  await page.getByText("No run 'nothing'").waitFor();
  expect(page.url()).toContain('run=nothing');
});
