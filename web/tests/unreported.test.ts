import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, inject, test } from 'vitest';

import { barriers, browsing, contrasts, settled } from './browser';
import { run } from './events';
import { ask, post, PYTHON, ROOT, until } from './headwater';

const url = inject('url');
const folder = mkdtempSync(join(tmpdir(), 'headwater-history-'));
const { open } = browsing();
const TABLE = { namespace: 's3://lake', name: 'table' };

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Compare a job history with the stored runs and save the findings. */
function compare(rows: readonly (readonly string[])[]): void {
  const history = join(folder, 'jobs.csv');
  writeFileSync(history, [['id', 'name', 'state', 'started', 'ended'], ...rows].map((row) => row.join(',')).join('\n'));
  const program = ['-m', 'headwater', 'reconcile', '--server', url, '--history', `csv:${history}`];
  execFileSync(PYTHON, [...program, '--save', 'nightly', '--fail-on', 'none'], { cwd: folder, env: { ...process.env, PYTHONPATH: ROOT } });
}

/** Wait until the page shows this many findings. */
const stand = (count: number): Promise<void> =>
  until(async () => (await ask<{ comparisons: { findings: number }[] }>(url, 'unreported')).comparisons[0]?.findings === count);

test('the page shows that no comparison exists, then its findings, and that a later comparison clears them', async () => {
  const page = await open(`${url}/unreported`);
  await page.getByText('No comparison was saved yet').waitFor();
  await page.getByText('so missing runs are unknown').waitFor();
  expect(await barriers(page)).toEqual([]);

  const runId = randomUUID();
  const [began, ended] = [7_200_000, 3_600_000].map((ago) => new Date(Date.now() - ago).toISOString()) as [string, string];
  const started: Record<string, unknown> = { ...run('opened', TABLE, TABLE, {}, began), eventType: 'START', run: { runId } };
  await post(url, [started]);
  const silent = Array.from({ length: 9 }, (_, number) => [`id-${number}`, `job_${number}`, 'success', began, ended]);
  compare([...silent, [runId, 'opened', 'success', began, ended]]);
  await stand(10);
  await page.reload();
  await settled(page);
  const rows = page.getByRole('table', { name: 'unreported' }).getByRole('row');
  await page.getByRole('row').filter({ hasText: 'ran without lineage' }).first().waitFor();
  expect(await page.getByRole('table', { name: 'comparisons' }).getByRole('row').last().textContent()).toContain('nightly');
  expect(await barriers(page)).toEqual([]);
  await page.getByRole('button', { name: 'Use dark colours' }).click();
  expect(await contrasts(page)).toEqual([]);

  await page.getByLabel('Filter unreported').fill('job_7');
  await until(async () => (await rows.count()) === 2);
  expect(await rows.last().textContent()).toContain('id-7');
  await page.getByLabel('Filter unreported').fill('opened');
  await rows.filter({ hasText: 'never ended' }).waitFor();
  await until(async () => (await rows.count()) === 2);
  await rows.last().getByRole('link').click();
  await page.getByRole('heading', { name: `Run ${runId}` }).waitFor();
  await page.getByRole('link', { name: 'opened' }).first().click();
  await page.waitForURL(/\/job\?/);
  await settled(page);

  compare([]);
  await stand(0);
  await page.goto(`${url}/unreported`);
  await page.getByText('All compared runs sent events').waitFor();
});
