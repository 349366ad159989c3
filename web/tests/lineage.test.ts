import { buffer } from 'node:stream/consumers';

import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';

import type { Answer } from '../src/api/client';
import { browsing, drawn } from './browser';
import { WIDE } from './cases';
import { ask, until } from './headwater';
import { at, BRONZE, EMAIL, SILVER } from './places';

const url = inject('url');
const { open } = browsing();

interface PictureResult {
  table: string;
  column: string;
  masked: boolean;
}

/** Return the columns in the graph with their full names. */
async function columns(page: Page): Promise<PictureResult[]> {
  return page.locator('.react-flow__node').evaluateAll((nodes) =>
    nodes.flatMap((node) =>
      [...node.querySelectorAll('[data-column]')].map((row) => ({
        table: node.querySelector('.node-head')?.getAttribute('title') ?? '',
        column: row.getAttribute('data-column') ?? '',
        masked: row.textContent.includes('masked on the way'),
      })),
    ),
  );
}

const text = ({ table, column, masked }: PictureResult): string => `${table} ${column} ${masked ? 'masked' : 'clear'}`;

test.each(['value', 'any'] as const)('the lineage of customer_email shows exactly the columns that the API returns, mode %s', async (mode) => {
  const page = await open(url + at('/lineage', { ...EMAIL, mode }), { width: 1900, height: 1200 });
  await drawn(page);
  const shown = (await columns(page)).map(text).sort();
  const [down, up] = await Promise.all([
    ask<Answer<'impact'>>(url, 'impact', { ...EMAIL, mode }),
    ask<Answer<'upstream'>>(url, 'upstream', { ...EMAIL, mode }),
  ]);
  const answered = [...down.columns, ...up.columns].map(({ namespace, dataset, column, masked }) => text({ table: `${namespace}/${dataset}`, column: column ?? '', masked }));
  const asked = text({ table: `${EMAIL.namespace}/${EMAIL.dataset}`, column: EMAIL.column, masked: false });
  expect(shown).toEqual([...new Set([...answered, asked])].sort());
  expect(shown.filter((each) => each.endsWith('masked')).length).toBeGreaterThan(0);
  expect(shown.filter((each) => each.endsWith('clear')).length).toBeGreaterThan(2);
  const dashed = await page.locator('.line.indirect').count();
  expect(dashed > 0).toBe(mode === 'any');
});

test('a click on a column shows only related columns, first in each table, and the URL contains it', async () => {
  const page = await open(url + at('/lineage', { ...BRONZE, up: '1', down: '1' }), { width: 1900, height: 1200 });
  await drawn(page);
  const before = (await columns(page)).length;
  await page.locator('.node.subject [data-column="customer_email"]').click();
  await page.waitForURL(/column=customer_email/);
  await page.locator('.node-column.subject').waitFor();
  const after = await columns(page);
  expect(after.length).toBeLessThan(before);
  await page.reload();
  await drawn(page);
  expect((await columns(page)).map(text).sort()).toEqual(after.map(text).sort());
});

test('transformation and SQL of an edge are shown on demand', async () => {
  const page = await open(url + at('/lineage', { ...SILVER, up: '1', down: '0' }));
  await drawn(page);
  await page.locator('.react-flow__edge[aria-label*="bronze/customers"]').first().focus();
  await page.keyboard.press('Enter');
  const panel = page.getByRole('complementary', { name: 'Edge' });
  await panel.locator('.reason').first().waitFor();
  expect(await panel.textContent()).toMatch(/DIRECT.*run/s);
});

test('the graph extends by one step, by two steps and completely', async () => {
  const page = await open(url + at('/lineage', { ...SILVER, up: '0', down: '0' }));
  await drawn(page);
  const count = () => page.locator('.react-flow__node').count();
  expect(await count()).toBe(1);
  await page.getByRole('button', { name: /more tables downstream/ }).click();
  await until(async () => (await count()) > 1);
  const one = await count();
  await page.getByRole('combobox', { name: /^Downstream/ }).selectOption('2');
  await until(async () => (await count()) > one);
  await page.getByRole('combobox', { name: /^Upstream/ }).selectOption('all');
  await page.waitForURL(/up=1000/);
});

test('groups open one by one, and folded tables are hidden', async () => {
  const page = await open(`${url}/lineage`);
  await drawn(page);
  const groups = await page.locator('.node.group').count();
  await page.locator('.node.group').filter({ hasText: 'onelake' }).getByRole('button', { name: 'Open' }).click();
  await page.waitForURL(/open=/);
  await until(async () => (await page.locator('.react-flow__node').count()) >= groups);
  const map = await ask<Answer<'graph'>>(url, 'graph', { groups: 'namespace' });
  expect(groups).toBe(map.totalCount);
  await page.goto(url + at('/lineage', { ...SILVER, up: '1', down: '2' }));
  await drawn(page);
  await page.locator('.node.subject .node-head').click();
  await page.getByRole('button', { name: 'Fold downstream' }).click();
  await until(async () => (await page.locator('.react-flow__node').count()) === 2);
});

test('the slider shows another time, and two dates are compared', async () => {
  const page = await open(url + at('/lineage', { ...SILVER, up: '2', down: '2' }), { expected: /404/ });
  await drawn(page);
  const now = await page.locator('.graph').getAttribute('data-layout');
  await page.getByRole('button', { name: /^Time:/ }).click();
  await page.getByRole('slider').focus();
  await until(async () => {
    await page.keyboard.press('ArrowLeft');
    return (await page.locator('.graph').getAttribute('data-layout')) !== now;
  });
  const then = new URL(page.url()).searchParams.get('asOf') ?? '';
  await page.goto(url + at('/lineage', { ...SILVER, up: '2', down: '2', since: then }));
  await page.locator('.node.added').first().waitFor();
  await drawn(page); // edges are drawn after boxes
  expect(await page.locator('.line.added').count()).toBeGreaterThan(0);
});

test('the slider of the map covers the time range of the whole lake', async () => {
  const page = await open(url + at('/lineage', { group: 'none' }));
  await drawn(page);
  const now = Number(await page.locator('.graph').getAttribute('data-layout'));
  await page.getByRole('button', { name: /^Time:/ }).click();
  await page.getByRole('slider').focus();
  await page.keyboard.press('Home');
  await until(async () => Number(await page.locator('.graph').getAttribute('data-layout')) < now);
  const answer = await fetch(`${url}/api/v1/namespaces?limit=1000`);
  const { namespaces } = (await answer.json()) as { namespaces: { createdAt: string }[] };
  const first = Math.min(...namespaces.map((each) => Date.parse(each.createdAt)));
  expect(Date.parse(new URL(page.url()).searchParams.get('asOf') ?? '')).toBe(first);
});

test('only the path between two columns is drawn', async () => {
  const page = await open(url + at('/lineage', { ...EMAIL, toDataset: 'silver/customers', toNamespace: SILVER.namespace, toColumn: 'email_sha' }));
  await drawn(page);
  await page.getByText('The shortest path has 1 step.').waitFor();
  expect((await columns(page)).map(({ column }) => column).sort()).toEqual(['customer_email', 'email_sha']);
});

test('the graph is saved as SVG and PNG, its table as CSV', async () => {
  const page = await open(url + at('/lineage', EMAIL), { width: 1900, height: 1200 });
  await drawn(page);
  const saved = async (name: string): Promise<Buffer> => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
    return buffer(await file.createReadStream());
  };
  const svg = (await saved('SVG')).toString('utf8');
  expect(svg).toContain('customer_email');
  const problems = await page.evaluate((source) => new DOMParser().parseFromString(source, 'image/svg+xml').querySelector('parsererror')?.textContent, svg);
  expect(problems).toBeUndefined();
  const threads = page.waitForEvent('worker', (worker) => worker.url().includes('savingWorker'));
  const png = await saved('PNG');
  await threads; // a worker paints the picture, not the main thread
  expect(await otherPixels(page, svg, png)).toBeLessThan(0.03);
  await page.getByText('Graph as a table').click();
  const csv = (await saved('CSV')).toString('utf8').split('\r\n');
  expect(csv[0]).toBe('Position,Table or group,Column,Path,Change,Namespace');
  expect(csv.length - 2).toBe((await columns(page)).length);
});

/** Return the share of a saved PNG that differs from the browser's rendering of its SVG; both are scaled down to ignore text. */
const otherPixels = (page: Page, svg: string, png: Buffer): Promise<number> =>
  page.evaluate(async (sources) => {
    const drawn = async (source: string): Promise<Uint8ClampedArray> => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const context = new OffscreenCanvas(300, 200).getContext('2d');
      context?.drawImage(image, 0, 0, 300, 200);
      return context?.getImageData(0, 0, 300, 200).data ?? new Uint8ClampedArray();
    };
    const [one, other] = await Promise.all(sources.map(drawn));
    const isOther = (_: number, at: number) => Math.abs((one?.[at] ?? 0) - (other?.[at] ?? 0)) > 40;
    const paper = one?.every((value, at) => value === one[at % 4]);
    return paper || !one?.length ? 1 : one.filter(isOther).length / one.length;
  }, [`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`, `data:image/png;base64,${png.toString('base64')}`]);

/** Return the boxes that an edge runs behind. */
const crossed = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const boxes = [...document.querySelectorAll('.react-flow__node')].map((node) => ({ name: node.getAttribute('data-id') ?? '', box: node.getBoundingClientRect() }));
    return [...document.querySelectorAll<SVGPathElement>('path.line')].flatMap((path) => {
      const [screen, length] = [path.getScreenCTM(), path.getTotalLength()];
      const points = Array.from({ length: 200 }, (_, at) => path.getPointAtLength((length * at) / 199).matrixTransform(screen ?? undefined));
      return boxes.filter(({ box }) => points.some(({ x, y }) => x > box.left + 2 && x < box.right - 2 && y > box.top + 2 && y < box.bottom - 2)).map(({ name }) => name);
    });
  });

/** Return the smallest text size inside boxes, in screen pixels. */
const smallest = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const zoom = new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport') ?? document.body).transform).a;
    const texts = [...document.querySelectorAll('.react-flow__node *, .line-label')].filter((each) => [...each.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent?.trim()));
    return Math.min(...texts.map((each) => parseFloat(getComputedStyle(each).fontSize) * zoom));
  });

test('a table with sixty consumers is visible and readable, and its folded consumers are counted, listed and drawn', async () => {
  const page = await open(url + at('/lineage', { namespace: WIDE, dataset: 'core/orders' }));
  await drawn(page);
  const stack = page.locator('.node.stack .node-head');
  expect(await stack.textContent()).toContain('+40 more');
  expect(await page.locator('.node.subject').count()).toBe(1);
  expect(await smallest(page)).toBeGreaterThanOrEqual(10.99);
  expect(await crossed(page)).toEqual([]);
  await stack.click();
  const panel = page.getByRole('complementary', { name: '+40 more' });
  const folded = (await panel.getByRole('link').first().textContent()) ?? '';
  await panel.getByRole('searchbox').fill(folded);
  await panel.getByRole('button', { name: /^Show ./ }).first().click();
  await page.waitForURL(/pin=/);
  await until(async () => (await page.locator('.node.table .node-head').count()) > 0 && (await page.locator('.react-flow').getAttribute('data-drawn')) === 'true');
  expect(new URL(page.url()).searchParams.get('pin')).toContain(folded.split('/').at(-1));
});

test('arrow keys follow edges in a cycle, each box shows its numbers of edges, and no edge runs behind a box', async () => {
  const page = await open(url + at('/lineage', { namespace: WIDE, dataset: 'circle/a', up: '1000', down: '1000' }), { width: 1900 });
  await drawn(page);
  expect(await crossed(page)).toEqual([]);
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');
  await page.locator('.node.subject .node-head').focus();
  expect(await focused()).toMatch(/^circle\/a .*, 2 in, 1 out, abfss:/);
  for (const [key, name] of [['ArrowRight', 'circle/b'], ['ArrowRight', 'circle/c'], ['ArrowLeft', 'circle/b'], ['ArrowLeft', 'circle/a'], ['ArrowLeft', 'circle/in']] as const) {
    await page.keyboard.press(key);
    await until(async () => (await focused()).startsWith(name));
  }
});
