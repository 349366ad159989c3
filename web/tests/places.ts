// Addresses of pages in the recorded pipeline.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const STORE = 'abfss://3f2a9c1e-0000-4000-8000-00000000aa01@onelake.dfs.fabric.microsoft.com';
const LAKEHOUSE = '3eb04867-0000-4000-8000-0000000000b1';

export const BRONZE = { namespace: STORE, dataset: `${LAKEHOUSE}/Tables/bronze/customers` };
export const SILVER = { namespace: STORE, dataset: `${LAKEHOUSE}/Tables/silver/customers` };
export const EMAIL = { ...BRONZE, column: 'customer_email' };

export const at = (path: string, query: Record<string, string> = {}): string => `${path}?${new URLSearchParams(query).toString()}`;
export const datasetAt = (named: { namespace: string; dataset: string }): string => at('/dataset', { namespace: named.namespace, name: named.dataset });

const JOB = { namespace: 'lab-workspace', name: 'nb_medallion.append_data_exec_v1.spark_catalog_goldlh_daily' };
export const APPLICATION = '01a1fdb3-007a-75b2-b7a6-a9996ea0d827';
const RUN = '01a1fdb6-2d0f-7d36-bce4-342de6f772df';

/** Addresses of pages that need a parameter, and further views of the same page. */
const VIEWS: Record<string, string> = {
  overview: '/?window=365d',
  map: '/lineage?group=schema',
  tables: at('/lineage', { ...SILVER, up: '2', down: '2' }),
  columns: at('/lineage', EMAIL),
  search: '/search?q=customer',
  datasets: '/datasets?sort=-last_written',
  jobs: '/jobs?state=COMPLETE',
  runs: '/runs',
  dataset: datasetAt(SILVER),
  column: at('/column', EMAIL),
  job: at('/job', JOB),
  run: at('/run', { id: RUN }),
  diff: '/diff?from=2026-11-21T10:40:00.000Z',
  connect: '/connect?producer=spark-submit',
  nowhere: '/nowhere',
};

/** The paths of all pages in the route table. */
export const PATHS = [...readFileSync(join(import.meta.dirname, '../src/shell/routes.tsx'), 'utf8').matchAll(/\bpath: '(\w[^']*)'/g)].map(([, path]) => path ?? '');

/** Every page by name, with an address that shows content. */
export const PAGES: Record<string, string> = { ...Object.fromEntries(PATHS.filter((path) => path !== 'lineage').map((path) => [path, `/${path}`])), ...VIEWS };
