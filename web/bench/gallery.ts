// A gallery of the pages: each page, and empty and error states, in both themes and three sizes, in build/gallery. `make screenshots` builds it.
// `npm run tools bench/gallery.ts -- -t NAME` makes some of its pictures.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, test } from 'vitest';

import { browsing, drawn, settled } from '../tests/browser';
import { tables } from '../tests/cases';
import { recorded } from '../tests/events';
import { ROOT } from '../tests/headwater';
import { at, PAGES } from '../tests/places';
import { serversOf } from './lakes';

const { open } = browsing();
const FOLDER = join(ROOT, 'build/gallery');
const SIZES = [[1440, 900], [1280, 720], [390, 844]] as const;
const THEMES = ['light', 'dark'] as const;

const LAKES = { recorded, empty: () => [], 3: () => tables(3), 30: () => tables(30), 300: () => tables(300), 3000: () => tables(3_000) } as const;
type Lake = keyof typeof LAKES;
const lake = serversOf<Lake>(LAKES);

afterAll(() => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.png')).sort();
  writeFileSync(join(FOLDER, 'index.html'), `<!doctype html><meta charset="utf-8"><title>Gallery</title>${names.map((name) => `<h2>${name}</h2><img src="${name}" width="720" loading="lazy" alt="">`).join('')}`);
});

const NOTHING = { namespace: 's3://nothing', name: 'nothing', dataset: 'nothing', column: 'nothing', id: '00000000-0000-4000-8000-000000000000', job: 'nothing' };
const WITHOUT_DATA = ['/', '/lineage', '/datasets', '/jobs', '/runs', '/surface', '/unused', '/health', '/events', '/rejected', '/coverage', '/search?q=nothing'];
const WITHOUT_SUBJECT = ['/dataset', '/column', '/job', '/run', '/lineage', '/job-graph'];

const PICTURES: Record<string, readonly [address: string, of: Lake]> = {
  ...Object.fromEntries(Object.entries(PAGES).map(([name, address]) => [name, [address, 'recorded'] as const])),
  ...Object.fromEntries(WITHOUT_DATA.map((address) => [`empty-${address.slice(1).replace(/\W.*/, '') || 'start'}`, [address, 'empty'] as const])),
  ...Object.fromEntries(WITHOUT_SUBJECT.map((path) => [`error${path.replace('/', '-')}`, [at(path, NOTHING), 'recorded'] as const])),
  ...Object.fromEntries(([3, 30, 300, 3000] as const).map((many) => [`tables-${many}`, [at('/lineage', { namespace: 's3://many', dataset: 'schema_0/t0', up: '1000', down: '1000' }), many] as const])),
  ...Object.fromEntries(([3, 30, 300, 3000] as const).map((many) => [`map-${many}`, ['/lineage', many] as const])),
};

test.each(Object.keys(PICTURES))('%s', async (name) => {
  const [address, of] = PICTURES[name] ?? ['', 'recorded'];
  const page = await open((await lake(of)).url + address, { expected: /40[014]|503/ });
  mkdirSync(FOLDER, { recursive: true });
  for (const theme of THEMES) {
    await page.evaluate((chosen) => localStorage.setItem('headwater-theme', chosen), theme);
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      await page.reload();
      await settled(page);
      if (await page.locator('.react-flow').count()) await drawn(page);
      await page.waitForTimeout(500); // charts have no event of their own
      await page.screenshot({ path: join(FOLDER, `${name}-${theme}-${width}.png`) });
    }
  }
});
