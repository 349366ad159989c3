// Opens pages that fail the test if they log an error, load from another host or open a dialog.
import axe from 'axe-core';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';

export interface Watched {
  page: Page;
  /** Problems that fail the test. */
  faults: string[];
}

/** Give each test of a file a new page in the shared browser; an error in the page's log fails the test. */
export function browsing(): { open: (url: string, options?: Options) => Promise<Page> } {
  let browser: Browser;
  let open: Watched[] = [];
  const windows = new Map<string, Promise<BrowserContext>>();
  beforeAll(async () => {
    browser = await chromium.connect(inject('browser'));
  });
  afterEach(async () => {
    const faults = open.flatMap((each) => each.faults);
    await Promise.all(open.map(({ page }) => page.close()));
    open = [];
    expect(faults).toEqual([]);
  });
  afterAll(() => browser.close());
  return {
    open: async (url, options = {}) => {
      const { width = 1280, height = 900, profile = 0 } = options;
      const key = JSON.stringify([width, height, profile]);
      const window = windows.get(key) ?? browser.newContext({ viewport: { width, height }, acceptDownloads: true });
      windows.set(key, window);
      const watched = await watch(await window, url, options);
      open.push(watched);
      await watched.page.goto(url);
      return watched.page;
    },
  };
}

interface Options {
  width?: number;
  height?: number;
  /** Pages with the same profile share a cache and the limit of six connections to a host. */
  profile?: number;
  /** Log messages that are allowed; the browser logs every response with an error status. */
  expected?: RegExp;
}

async function watch(window: BrowserContext, url: string, { expected }: Options): Promise<Watched> {
  const page = await window.newPage();
  page.setDefaultTimeout(20_000);
  await page.addInitScript(() => {
    if (!sessionStorage.getItem('begun')) localStorage.clear(); // start without stored settings
    sessionStorage.setItem('begun', 'yes');
  });
  const faults: string[] = [];
  const origin = new URL(url).origin;
  page.on('console', (message) => {
    const text = message.text();
    if (['error', 'warning'].includes(message.type()) && !expected?.test(text)) faults.push(`${text} ${message.location().url}`);
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('dialog', (dialog) => {
    faults.push(`A dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const from = request.url();
    if (!from.startsWith(origin) && !from.startsWith(`blob:${origin}`) && !from.startsWith('data:')) faults.push(`A request to another host: ${from}`);
  });
  return { page, faults };
}

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** Return all accessibility violations that axe finds, including minor ones. Sizes in a graph are ignored: users can zoom. */
export const barriers = (page: Page): Promise<string[]> => found(page, { type: 'tag', values: RULES });

/** Return the violations of axe's color rules, the only rules whose results depend on the theme. */
export const contrasts = (page: Page): Promise<string[]> => found(page, { type: 'rule', values: OF_COLOURS });

async function found(page: Page, runOnly: axe.RunOnly): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  return page.evaluate(async (only) => {
    const run = (window as unknown as { axe: typeof axe }).axe.run;
    const moving = document.getAnimations().filter((each) => each instanceof CSSTransition);
    await Promise.allSettled(moving.map((each) => each.finished)); // wait until colors stop changing
    const { violations } = await run(document, { runOnly: only, rules: document.querySelector('.react-flow') ? { 'target-size': { enabled: false } } : {} });
    return violations.map((each) => `${each.impact ?? ''} ${each.id}: ${each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  }, runOnly);
}

/** Wait until a page has loaded its answers. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => !document.querySelector('.state.loading'));
}

/** Wait until a graph is drawn. */
export async function drawn(page: Page): Promise<void> {
  await page.locator('.react-flow[data-drawn="true"]').waitFor();
  await page.waitForFunction(() => !document.querySelector('.state.loading'));
}

/** Widths in pixels; 640 corresponds to 200 % zoom in a window of 1280. */
const SIZES = [1280, 640, 390];

/** Return the layout problems of a page, independent of the names that it shows. */
export async function wrong(page: Page): Promise<string[]> {
  await settled(page);
  const found: string[] = [];
  for (const width of SIZES) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, Math.max(...[...document.querySelectorAll('h1, .main > *')].map((each) => each.getBoundingClientRect().right))]);
    if (wide.some((each) => each > width + 1)) found.push(`wider than ${width}: ${wide.join()}`);
  }
  const inside = await page.evaluate(() => [document.querySelectorAll('.main img, .main script, .main iframe, .main a[href^="javascript:" i]').length, document.body.textContent.includes('This page failed')]);
  return [...found, ...(inside[0] ? ['a name was rendered as HTML'] : []), ...(inside[1] ? ['the page failed'] : [])];
}
