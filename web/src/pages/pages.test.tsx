// Every page with every shape of an answer, in React's production build: as users have it, and without what only a developer is told.
import { screen } from '@testing-library/dom';
import { QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { createMemoryRouter, RouterProvider, type RouteObject } from 'react-router';
import { afterAll, afterEach, expect, test, vi } from 'vitest';

import { openapi, shapesOf } from '../api/everyShape';
import { queryClient } from '../api/hooks';
import { feed } from '../api/live';
import { routesOf } from '../shell/routes';

const ONE = '?namespace=n&dataset=d&name=d&column=c&id=1&q=x&job=d&run=1&sink=s';
const MORE = [
  '/?window=7d', '/lineage?since=2026-03-01', '/lineage?dataset=d&up=1&since=2026-03-01T00:00:00Z', `/lineage${ONE}&toDataset=e`,
  '/surface?exposure=unknown&since=never', '/surface?exposure=once_exposed', '/surface?exposure=tagged', '/unused?verdict=used', '/unused?strict=true',
  '/diff?from=never', '/diff?from=last_green:load', '/connect?producer=curl', '/diff?from=2026-03-01&to=2026-04-01', '/health?status=late', '/nowhere',
  '/datasets?owner=x&state=FAIL&sort=-columns', '/jobs?tag=pii', '/runs?state=LOST&since=never', '/coverage?kind=job&text=x',
]; // prettier-ignore
const NEEDS_ONE = new Set(['dataset', 'column', 'job', 'run', 'search']);
const OTHER_OF_ONE = new Set(['lineage', 'sinks']); // of one thing they show what they do not show of all

/** Every page of the routes' table, of all and of one thing. */
const paths = (routesOf()[0]?.children?.[0]?.children ?? []).map(({ path }) => path ?? '').filter((path) => path !== '*');
const PAGES = [...paths.flatMap((path) => (NEEDS_ONE.has(path) ? [`/${path}${ONE}`] : [`/${path}`, `/${path}${ONE}`])), ...MORE];

const ROUNDS = 8; // each answer has its items in all their shapes at once
const OF_MORE = 3; // the same page with other parameters, or narrowed to one thing
const OF_FACETS = 17; // no facet, then each facet in each shape, several in one round

function roundsOf(address: string): number {
  const path = /^\/(\w*)/.exec(address)?.[1] ?? '';
  if (['dataset', 'job', 'run'].includes(path)) return OF_FACETS;
  const isNarrowed = address.endsWith(ONE) && !NEEDS_ONE.has(path) && !OTHER_OF_ONE.has(path);
  return isNarrowed || MORE.includes(address) ? OF_MORE : ROUNDS;
}

/** Addresses of Marquez's API, the longest first. */
const MARQUEZ: [RegExp, string][] = [
  [/\/datasets\/[^/]+\/versions$/, 'MarquezVersions'], [/\/datasets\/[^/]+$/, 'MarquezDataset'], [/\/runs\/[^/]+\/facets$/, 'MarquezFacets'],
  [/\/jobs\/runs\/[^/]+$/, 'MarquezRun'], [/\/jobs\/[^/]+$/, 'MarquezJob'], [/\/namespaces$/, 'MarquezNamespaces'],
]; // prettier-ignore

const unknown: string[] = []; // asked by a page, and nothing says what is answered
const patternOf = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]*')}$`);

function schemaOf(path: string): string {
  const marquez = MARQUEZ.find(([address]) => path.startsWith('/api/v1/') && address.test(path))?.[1];
  if (marquez) return marquez;
  const operation = (openapi.paths[path] ?? Object.entries(openapi.paths).find(([template, { get }]) => get && patternOf(template).test(path))?.[1])?.get;
  const ref = operation?.responses[200].content['application/json']?.schema.$ref;
  if (!ref) unknown.push(path);
  return ref?.split('/').at(-1) ?? '';
}

const ME = [...[null, { name: 'anyone', roles: [], person: false, kind: 'anyone', issuer: null, subject: null, object_id: null }, { name: '\u202eviewer', roles: ['read', 'admin'], person: true, kind: 'token', issuer: 'https://i', subject: '\u202es', object_id: 'o' }]].flatMap((who) => [true, false].map((signIn) => ({ who, signIn })));

/** Of long lists the first two: behind the rounds of all shapes only facets are new, which are no lists. */
const brief = (_: string, value: unknown): unknown => (Array.isArray(value) && value.length > LEAF_MOST ? value.slice(0, 2) : value);
const LEAF_MOST = 3;

/** Answer every request by the shape of a number. */
function answerBy(number: number): void {
  vi.stubGlobal('fetch', (address: string) => {
    const path = address.split('?')[0] ?? '';
    const shapes = path === '/auth/me' ? ME : shapesOf(schemaOf(path));
    const shape = JSON.stringify(shapes[number % shapes.length], number < ROUNDS ? undefined : brief);
    return Promise.resolve(new Response(shape, { headers: { 'content-type': 'application/json' } }));
  });
}

const TURN_MS = 10;
const turn = () => new Promise((done) => setTimeout(done));

/** Wait until something is so: without Testing Library's `act`, which the production build does not have. */
async function until(so: () => void): Promise<void> {
  await turn();
  await vi.waitFor(so, { timeout: 60_000, interval: TURN_MS });
}

const loaded = () => expect(document.querySelector('.state.loading, .chart:empty')).toBeNull();

let close = (): void => undefined;
afterEach(() => close());

async function open(address: string, pages?: RouteObject[]): Promise<void> {
  const router = createMemoryRouter(routesOf(pages), { initialEntries: [address] });
  const root = createRoot(document.body.appendChild(document.createElement('div')));
  root.render(<QueryClientProvider client={queryClient}><RouterProvider router={router} /></QueryClientProvider>);
  close = () => {
    root.unmount();
    document.body.replaceChildren();
    queryClient.clear();
  };
  await until(() => {
    expect(document.querySelector('h1, .failure')).not.toBeNull();
    loaded();
  });
} // prettier-ignore

/** Sort by each column that was not sorted by yet, where there is an order: a list of many is of the same items in each round. */
async function sort(done: Set<string>): Promise<void> {
  for (const table of document.querySelectorAll('.grid')) {
    const isList = table.querySelectorAll('.tbody > [role=row]').length > 1;
    for (const button of isList ? table.querySelectorAll<HTMLElement>('[aria-sort] button') : []) {
      const key = `${table.getAttribute('aria-label') ?? ''}\n${button.textContent.replace(/ [↑↓]$/, '')}`;
      if (done.has(key)) continue;
      done.add(key);
      button.click();
      await turn();
    }
  }
}

const fault = (): string | undefined => [...document.querySelectorAll('.failure strong')].find(({ textContent }) => textContent.startsWith('This page failed'))?.textContent;

afterAll(() => expect([...new Set(unknown)]).toEqual([]));

test.each(PAGES)('%s shows every answer that the types allow', { timeout: 120_000 }, async (address) => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined); // React warns of names that were drawn twice
  const sorted = new Set<string>();
  for (let number = 0; number < roundsOf(address); number += 1) {
    answerBy(number);
    await open(address);
    expect([number, fault()]).toEqual([number, undefined]);
    await sort(sorted);
    for (const folded of document.querySelectorAll('summary')) folded.click();
    await until(loaded);
    expect([number, fault()]).toEqual([number, undefined]);
    close();
  }
});

test('what happens now is shown in every form that it may have', { timeout: 120_000 }, async () => {
  answerBy(0);
  for (const [kind, name] of [['run', 'RunHappened'], ['edge', 'EdgeHappened'], ['rejected', 'RejectedHappened']] as const)
    for (const value of shapesOf(name).slice(0, 10)) feed.add({ id: '1-1', kind, value } as never);
  await open('/');
  await until(() => expect(document.querySelectorAll('.feed li').length).toBeGreaterThan(30));
  expect(fault()).toBeUndefined();
});

test('a page that fails leaves the navigation, and the next page is there', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined); // React tells of it
  answerBy(1);
  const Failing = (): never => {
    throw new Error('it has no column');
  };
  await open('/', [{ index: true, Component: Failing }, { path: 'settings', element: <h1>Next</h1> }]);
  expect(fault()).toBe('This page failed: it has no column.');
  screen.getByRole('link', { name: 'Settings' }).click();
  expect(await screen.findByRole('heading', { name: 'Next' })).toBeTruthy();
  expect(fault()).toBeUndefined();
});
