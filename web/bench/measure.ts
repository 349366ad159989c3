// What `python -m bench.dashboard` shows: figures of the page in headless Chromium, medians, written as JSON.
import { writeFileSync } from 'node:fs';

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, test } from 'vitest';

import { drawn, launch, settled } from '../tests/browser';
import { run } from '../tests/events';
import { Headwater } from '../tests/headwater';
import { at } from '../tests/places';

const ROUNDS = Number(process.env.HEADWATER_BENCH_ROUNDS ?? 5);
const OUT = process.env.HEADWATER_BENCH_OUT ?? 'dashboard.json';
const LAKE = 's3://wide';
const WIDE = { tables: 10, columns: 100 };
const MANY = { tables: 2_000, schemas: 40 };
const BROAD = 50;
const [A_STREAM, MESSAGES] = [20_000, 1_000_000];

const figures: Record<string, number> = {};
const headwater = new Headwater();
let browser: Browser;

const named = (name: string) => ({ namespace: LAKE, name });
const columns = (source: (at: number) => string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: WIDE.columns }, (_, at) => [`c${at}`, source(at)]));

beforeAll(async () => {
  browser = await launch();
  await headwater.start();
  const time = '2026-11-21T10:00:00Z';
  const wide = Array.from({ length: WIDE.tables }, (_, at) => run(`wide_${at}`, named(`wide/t${at}`), named(`wide/t${at + 1}`), columns((each) => (at ? `c${each}` : 'c0')), time));
  const broad = Array.from({ length: BROAD - 1 }, (_, at) => run(`broad_${at}`, named('broad/t0'), named(`broad/t${at + 1}`), columns((each) => `c${each}`), time));
  const name = (at: number) => `schema_${at % MANY.schemas}/t${at}`;
  const many = Array.from({ length: MANY.tables - 1 }, (_, at) => run(`many_${at}`, named(name(Math.floor(at / 3))), named(name(at + 1)), { c: 'c' }, time));
  await headwater.post([...wide, ...broad]);
  await headwater.post(many);
}, 300_000);

afterAll(async () => {
  await browser.close();
  await headwater.end();
  writeFileSync(OUT, JSON.stringify(figures));
});

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** Open a page in a window without a cache, with long tasks of the main thread noted. */
async function fresh<T>(path: string, look: (page: Page) => Promise<T>): Promise<T> {
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const tasks: { start: number; took: number }[] = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((each) => ({ start: each.startTime, took: each.duration })))).observe({ type: 'longtask', buffered: true });
    Object.assign(window, { tasks });
  });
  await page.goto(headwater.url + path);
  const found = await look(page);
  await context.close();
  return found;
}

/** The longest task behind a moment (ms since the page began). */
const longest = (page: Page, since: number): Promise<number> =>
  page.evaluate((from) => Math.max(0, ...(window as unknown as { tasks: { start: number; took: number }[] }).tasks.filter((task) => task.start >= from).map((task) => task.took)), since);

/** When the answer to a question had come (ms since the page began). */
const answered = (page: Page, question: string): Promise<number> =>
  page.evaluate((name) => {
    const found = performance.getEntriesByType('resource').find((each) => each.name.includes(`/api/headwater/v1/${name}?`));
    return (found as PerformanceResourceTiming | undefined)?.responseEnd ?? NaN;
  }, question);

const now = (page: Page): Promise<number> => page.evaluate(() => performance.now());

async function rounds(look: () => Promise<Record<string, number>>): Promise<void> {
  const found: Record<string, number[]> = {};
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [name, value] of Object.entries(await look())) (found[name] ??= []).push(value);
  for (const [name, values] of Object.entries(found)) figures[name] = median(values);
}

test('the first page', () =>
  rounds(() =>
    fresh('/', async (page) => {
      await settled(page);
      await page.locator('.recharts-surface').first().waitFor();
      return page.evaluate(() => {
        const scripts = performance.getEntriesByType('resource').filter((each) => each.name.endsWith('.js')) as PerformanceResourceTiming[];
        return { paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN, shown: performance.now(), script: scripts.reduce((sum, each) => sum + each.encodedBodySize, 0) / 1_000 };
      });
    }),
  ));

test('a column graph of 1,000 nodes', () =>
  rounds(() =>
    fresh(at('/lineage', { namespace: LAKE, dataset: 'wide/t0', column: 'c0' }), async (page) => {
      await drawn(page);
      const [end, start] = [await now(page), await answered(page, 'lineage')];
      return { columns: end - start, columnsTask: await longest(page, start) };
    }),
  ));

test('the map of 2,000 tables', () =>
  rounds(() =>
    fresh('/lineage?group=schema', async (page) => {
      await drawn(page);
      const [end, start] = [await now(page), await answered(page, 'graph')];
      return { groups: end - start, groupsWhole: end, groupsTask: await longest(page, start) };
    }),
  ));

test('panning and scrolling 50 tables of 100 columns', () =>
  rounds(() =>
    fresh(at('/lineage', { namespace: LAKE, dataset: 'broad/t0', up: '0', down: '1' }), async (page) => {
      await drawn(page);
      await page.mouse.move(800, 700);
      for (let steps = 0; steps < 6; steps += 1) await page.mouse.wheel(0, -400); // zoom in to where columns are read
      const start = await now(page);
      await page.mouse.down();
      for (let steps = 0; steps < 40; steps += 1) await page.mouse.move(800 - 12 * steps, 700 - 8 * steps);
      await page.mouse.up();
      for (let steps = 0; steps < 20; steps += 1) await page.mouse.wheel(0, steps % 2 ? 150 : -150);
      return { pan: await longest(page, start) };
    }),
  ));

test('1,000,000 live messages', async () => {
  const line = (id: number) => `id: ${id}\nevent: run\ndata: {"run":"r${id}","state":"COMPLETE","job":{"namespace":"n","name":"job ${id % 50}"}}\n\n`;
  const body = Array.from({ length: A_STREAM }, (_, id) => line(id)).join('');
  const context = await browser.newContext();
  const page = await context.newPage();
  let streams = 0;
  await page.route('**/api/headwater/v1/live', async (route) => {
    streams += 1;
    await route.fulfill({ status: 200, contentType: 'text/event-stream', body });
  });
  await page.goto(`${headwater.url}/`);
  const session = await context.newCDPSession(page);
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const heard = async (messages: number) => {
    while (streams <= messages / A_STREAM) await page.waitForTimeout(100); // the next stream begins where one has ended
  };
  await heard(A_STREAM);
  figures.heapBefore = await heap();
  await heard(MESSAGES);
  figures.heapAfter = await heap();
  await context.close();
});
