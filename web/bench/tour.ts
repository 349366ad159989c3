// Records the moving picture of the README from a running `headwater demo`. `make screenshots` joins its frames.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';

import { browsing, drawn, settled } from '../tests/browser';
import { PYTHON, ROOT } from '../tests/headwater';

/** Each frame is a PNG named `NUMBER-MILLISECONDS.png`. */
const FRAMES = join(ROOT, '.cache/tour');
const { open } = browsing();
let demo: ChildProcess | undefined;

afterAll(async () => {
  if (demo?.exitCode !== null) return;
  const ended = once(demo, 'exit');
  demo.kill('SIGINT');
  await ended;
});

/** Start the demo on a free port and return its address. */
async function startDemo(): Promise<string> {
  demo = spawn(PYTHON, ['-m', 'headwater', 'demo', '--no-browser', '--port', '0'], {
    cwd: ROOT, env: { ...process.env, PYTHONPATH: ROOT, PYTHONUNBUFFERED: '1' }, stdio: ['ignore', 'pipe', 'inherit'],
  }); // prettier-ignore
  if (!demo.stdout) throw new Error('The output of the demo is not a pipe.');
  let url = '';
  for await (const line of createInterface({ input: demo.stdout })) {
    url = /listens on (http:\S+)/.exec(line)?.[1] ?? url;
    if (line.startsWith('The demo runs until')) {
      demo.stdout.resume();
      return url;
    }
  }
  throw new Error('`headwater demo` exited before its page was available.');
}

test('tour', async () => {
  rmSync(FRAMES, { recursive: true, force: true });
  mkdirSync(FRAMES, { recursive: true });
  const page: Page = await open(await startDemo(), { width: 1440, height: 900, expected: /404/ });
  let number = 0;
  const frame = async (shownMs: number): Promise<void> => {
    await page.evaluate(() => document.fonts.ready);
    await page.waitForTimeout(400); // fitting the graph into the view sends no event
    await page.screenshot({ path: join(FRAMES, `${String(++number).padStart(2, '0')}-${shownMs}.png`) });
  };
  await settled(page);
  await frame(3000);
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Jobs, datasets').waitFor();
  for (const typed of ['e', 'ma', 'il']) {
    await page.keyboard.type(typed);
    await frame(350);
  }
  const column = page.getByRole('menuitem').filter({ hasText: 'bronze.customers' }).filter({ hasText: 'column' });
  await column.first().waitFor();
  await frame(1200);
  await column.first().click();
  await page.waitForURL(/\/column\?/);
  await settled(page);
  await frame(3500);
  await page.getByRole('link', { name: 'Lineage graph' }).click();
  await drawn(page);
  await frame(2500);
  await page.getByLabel('Colour by').selectOption('personal');
  await drawn(page);
  await frame(3500);
  expect(number).toBe(8);
}, 300_000);
