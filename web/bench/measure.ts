// Measures the web page in headless Chromium for `python -m bench.dashboard`: medians of several rounds, written as JSON.
import { writeFileSync } from 'node:fs';

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, test } from 'vitest';

import { drawn, settled } from '../tests/browser';
import { consumers, tables, WIDE as CORE } from '../tests/cases';
import { run } from '../tests/events';
import { Headwater } from '../tests/headwater';
import { launch } from '../tests/launching';
import { at } from '../tests/places';
import { heapOf, pagesCpu, traced, type Task } from '../tests/tasks';

const ROUNDS = Number(process.env.HEADWATER_BENCH_ROUNDS ?? 5);
const OUT = process.env.HEADWATER_BENCH_OUT ?? 'dashboard.json';
const LAKE = 's3://wide';
const WIDE = { tables: 10, columns: 100 };
const [MANY, MORE, BROAD, CONSUMERS, A_POST] = [2_000, 10_000, 50, 999, 1_000];
const [A_STREAM, WARM, MESSAGES] = [20_000, 300_000, 1_000_000]; // after WARM messages, the browser has compiled hot code

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
  await headwater.post([...wide, ...broad, ...consumers(CONSUMERS)]);
  await headwater.post(tables(MANY));
}, 300_000);

afterAll(async () => {
  await browser.close();
  await headwater.end();
  writeFileSync(OUT, JSON.stringify(figures));
});

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const most = (tasks: readonly Task[], by: 'wall' | 'cpu'): number => Math.max(0, ...tasks.map((task) => task[by]));
const now = (page: Page): Promise<number> => page.evaluate(() => performance.now());

type Figures = Record<string, number>;

async function rounds(look: () => Promise<Figures>): Promise<void> {
  const found: Record<string, number[]> = {};
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [name, value] of Object.entries(await look())) (found[name] ??= []).push(value);
  for (const [name, values] of Object.entries(found)) figures[name] = median(values);
}

/** Open a page in a window without a cache, and record the tasks of its main thread while `look` runs. */
async function fresh<T>(path: string, look: (page: Page) => Promise<T>): Promise<{ found: T; tasks: Task[]; cpu: number }> {
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const page = await context.newPage();
  const before = await pagesCpu(browser);
  const { found: [found, cpu], tasks } = await traced(browser, page, async () => {
    await page.goto(headwater.url + path);
    return [await look(page), (await pagesCpu(browser)) - before] as const;
  }); // prettier-ignore
  await context.close();
  return { found, tasks, cpu };
}

/** Return when the response to a question arrived (ms since the navigation). */
const answered = (page: Page, question: string): Promise<number> =>
  page.evaluate((name) => {
    const found = performance.getEntriesByType('resource').find((each) => each.name.includes(`/api/headwater/v1/${name}?`));
    return (found as PerformanceResourceTiming | undefined)?.responseEnd ?? NaN;
  }, question);

/** Measure a graph: time to drawn since the response and since the navigation, and the longest tasks. */
const graph = (name: string, path: string): Promise<void> =>
  rounds(async () => {
    const { found: { start, end }, tasks, cpu } = await fresh(path, async (page) => {
      await drawn(page);
      return { end: await now(page), start: await answered(page, path.includes('dataset=') ? 'lineage' : 'graph') };
    }); // prettier-ignore
    const drawing = tasks.filter((task) => task.start + task.wall > start && task.start < end);
    return { [name]: end - start, [`${name}Whole`]: end, [`${name}Task`]: most(drawing, 'wall'), [`${name}TaskCpu`]: most(drawing, 'cpu'), [`${name}OpenTaskCpu`]: most(tasks, 'cpu'), [`${name}Cpu`]: cpu };
  });

const painted = (page: Page): Promise<number> =>
  page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime).then((found) => found.jsonValue() as Promise<number>);

test('the first page is painted before its script loads, then shows its first answer', () =>
  rounds(async () => {
    const { found, tasks, cpu } = await fresh('/', async (page) => {
      await page.locator('.card-value').first().waitFor();
      const answer = await now(page);
      const script = await page.evaluate(() => {
        const scripts = performance.getEntriesByType('resource').filter((each) => each.name.endsWith('.js')) as PerformanceResourceTiming[];
        return scripts.reduce((sum, each) => sum + each.encodedBodySize, 0) / 1_000;
      });
      return { paint: await painted(page), answer, script };
    });
    return { ...found, firstTaskCpu: most(tasks, 'cpu'), firstCpu: cpu };
  }));

test('floor of any page: one line of text without a script', () => rounds(async () => ({ floor: (await fresh('/health/live', painted)).found })));

test('floor of any graph: two tables', () => graph('two', at('/lineage', { namespace: CORE, dataset: 'marts/department_1/orders_1', up: '1', down: '0' })));

test('a column graph of 1,000 nodes', () => graph('columns', at('/lineage', { namespace: LAKE, dataset: 'wide/t0', column: 'c0' })));

test('1,000 tables, none folded', () => graph('tables', at('/lineage', { namespace: CORE, dataset: 'core/orders', stacks: 'open' })));

test('the map of 2,000 tables', () => graph('map', '/lineage?group=schema'));

test('2,000 tables around one, folded', () => graph('around', at('/lineage', { namespace: 's3://many', dataset: 'schema_0/t0', down: '1000' })));

const UNFOLDED = at('/lineage', { namespace: 's3://many', dataset: 'schema_0/t0', down: '1000', stacks: 'open' });
test('2,000 tables around one, none folded', () => graph('unfolded', UNFOLDED));

test('saving 2,000 tables as a picture', () =>
  rounds(async () => {
    const { found: start, tasks } = await fresh(UNFOLDED, async (page) => {
      await drawn(page);
      const began = await now(page);
      for (const form of ['SVG', 'PNG']) {
        const saved = page.waitForEvent('download');
        await page.getByRole('button', { name: form }).click();
        await saved;
      }
      return began;
    });
    const meanwhile = tasks.filter((task) => task.start >= start);
    return { save: most(meanwhile, 'wall'), saveCpu: most(meanwhile, 'cpu') };
  }));

test('panning and scrolling 50 tables of 100 columns', () =>
  rounds(async () => {
    const { found: start, tasks } = await fresh(at('/lineage', { namespace: LAKE, dataset: 'broad/t0', up: '0', down: '1' }), async (page) => {
      await drawn(page);
      await page.mouse.move(800, 700);
      for (let steps = 0; steps < 6; steps += 1) await page.mouse.wheel(0, -400); // zoom in until columns are readable
      const began = await now(page);
      await page.mouse.down();
      for (let steps = 0; steps < 40; steps += 1) await page.mouse.move(800 - 12 * steps, 700 - 8 * steps);
      await page.mouse.up();
      for (let steps = 0; steps < 20; steps += 1) await page.mouse.wheel(0, steps % 2 ? 150 : -150);
      return began;
    });
    const meanwhile = tasks.filter((task) => task.start >= start);
    return { pan: most(meanwhile, 'wall'), panCpu: most(meanwhile, 'cpu') };
  }));

test('the map of 10,000 tables', async () => {
  const further = tables(MORE).slice(MANY - 1);
  for (let at = 0; at < further.length; at += A_POST) await headwater.post(further.slice(at, at + A_POST));
  await graph('more', '/lineage?group=schema');
});

test('1,000,000 live messages', async () => {
  const line = (id: number) => `id: ${id}\nevent: run\ndata: {"run":"r${id}","state":"COMPLETE","job":{"namespace":"n","name":"job ${id % 50}"}}\n\n`;
  const body = Array.from({ length: A_STREAM }, (_, id) => line(id)).join('');
  const context = await browser.newContext();
  const page = await context.newPage();
  let [streams, allowed] = [0, 0];
  let [go, reached] = [(): void => undefined, (): void => undefined];
  await page.route('**/api/headwater/v1/live', async (route) => {
    if (streams === allowed) {
      reached(); // the page requests the next stream, so it has processed all messages; none arrives while memory is read
      await new Promise<void>((resolve) => (go = resolve));
    }
    streams += 1;
    await route.fulfill({ status: 200, contentType: 'text/event-stream', body });
  });
  await page.goto(`${headwater.url}/`);
  await page.locator('.recharts-surface').first().waitFor(); // read memory only after the page has loaded
  await settled(page);
  const session = await context.newCDPSession(page);
  const heard = async (messages: number) => {
    const all = new Promise<void>((resolve) => (reached = resolve));
    allowed = messages / A_STREAM;
    go();
    await all;
    return heapOf(session);
  };
  const [first, warm, after] = [await heard(A_STREAM), await heard(WARM), await heard(MESSAGES)];
  const data = (heap: typeof first) => heap.all - heap.code;
  Object.assign(figures, { heapFirst: first.all, dataFirst: data(first), heapWarm: warm.all, heapAfter: after.all, dataWarm: data(warm), dataAfter: data(after) });
  await context.close();
});
