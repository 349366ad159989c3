import { expect, inject, test } from 'vitest';

import { visible } from '../src/shown/odd';
import { browsing, drawn, settled } from './browser';
import { HOSTILE } from './events';
import { at } from './places';

const url = inject('url');
const { open } = browsing();

test.each(HOSTILE.names)('%s is shown whole and never runs', async (name) => {
  const page = await open(url + at('/dataset', { namespace: HOSTILE.namespace, name }));
  await page.getByRole('table', { name: 'columns' }).waitFor();
  expect(await page.locator('h1').textContent()).toBe(name);
  expect(await page.getByRole('cell').first().textContent()).toBe(`${name} column`);
  await page.getByRole('link', { name: 'Lineage', exact: true }).last().click();
  await drawn(page);
  const whole = await page.locator('.node-head').evaluateAll((heads) => heads.map((head) => head.getAttribute('title')));
  expect(whole).toContain(visible(`${HOSTILE.namespace}/${name}`));
  expect(await page.locator('img, .main script').count()).toBe(0);
});

test('search finds hostile names and opens them', async () => {
  const page = await open(`${url}/search?q=onerror`);
  await settled(page);
  await page.getByRole('link', { name: HOSTILE.names[0], exact: true }).first().click();
  await page.getByRole('heading', { name: HOSTILE.names[0] }).waitFor();
});
