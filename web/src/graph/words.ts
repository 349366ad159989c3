// The texts of boxes, on the screen and in saved pictures.
import { count } from '../parts/format';
import { shortName } from '../parts/links';
import type { PictureTable } from './picture';

export const NO_LINEAGE = 'no lineage was reported';
export const NO_FLOW = 'no flows shown';

export function headingOf(table: PictureTable): string {
  const many = count(table.members?.length ?? 0);
  if (table.kind === 'chain') return `${many} steps`;
  if (table.kind === 'stack') return table.isolated ? `${many} ${isOfJobs(table) ? 'jobs' : 'tables'}` : `+${many} more`;
  return splitName(table)[1] || systemOf(table.namespace).filter(Boolean).join(' · ');
}

/** Return the catalog of a table with a name in three or more parts (empty for others), and the rest of its name. */
function splitName({ display, name }: PictureTable): [catalog: string, name: string] {
  const whole = display ?? shortName(name);
  const parts = whole.includes('/') ? [] : whole.split('.');
  return parts.length > 2 && parts.every(Boolean) ? [parts.slice(0, -2).join('.'), parts.slice(-2).join('.')] : ['', whole];
}

export function subtitleOf(table: PictureTable): string {
  const mark = table.change === 'added' ? 'added · ' : table.change === 'removed' ? 'removed · ' : '';
  return `${mark}${about(table)}`;
}

/** The subtitle of a box on the screen: it names the system of a table. `common`: the namespace that all tables share, which is not repeated. */
export function shortSubtitleOf(table: PictureTable, common: string): string {
  if (table.kind === 'group' && table.name) return subtitleOf({ ...table, namespace: systemOf(table.namespace)[0] });
  if (table.kind !== 'table') return subtitleOf(table);
  const [system, host] = systemOf(table.namespace);
  const place = splitName(table)[0] || (table.namespace === common ? '' : host);
  const isShort = !place || isBare(table); // together with `no column lineage`, the place would be cut off
  return subtitleOf({ ...table, namespace: isShort ? system : `${system} · ${place}` });
}

const HOSTS: readonly [RegExp, string][] = [
  [/^abfss?:\/\/([^@/]+)@(?:[a-z-]+-)?onelake\./, 'OneLake'],
  [/^(?:abfss?|wasbs?):\/\/([^@/]+)@/, 'ADLS'],
  [/^s3[an]?:\/\/(.+)/, 'S3'],
  [/^gs:\/\/(.+)/, 'Cloud Storage'],
  [/^file:?(?:\/\/)?(.*)/, 'Files'],
];
const SCHEMES: Readonly<Record<string, string>> = {
  awsathena: 'Athena', bigquery: 'BigQuery', cosmos: 'Cosmos DB', duckdb: 'DuckDB', hdfs: 'HDFS', hive: 'Hive', kafka: 'Kafka', mysql: 'MySQL', oracle: 'Oracle',
  postgres: 'PostgreSQL', redshift: 'Redshift', snowflake: 'Snowflake', sqlserver: 'SQL Server', teradata: 'Teradata', trino: 'Trino', unitycatalog: 'Unity Catalog',
}; // prettier-ignore

/** Return the system of a namespace and its place in this system, such as a bucket or a host. */
export function systemOf(namespace: string): [system: string, place: string] {
  for (const [pattern, system] of HOSTS) {
    const found = pattern.exec(namespace);
    if (found) return [system, found[1] ?? ''];
  }
  const [, scheme = '', place = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)/i.exec(namespace) ?? [];
  const system = SCHEMES[scheme.toLowerCase()] ?? SCHEMES[namespace.toLowerCase()];
  return system ? [system, place] : [namespace, ''];
}

/** Return the namespace that all tables of a graph share, or an empty text. */
export function commonNamespace(tables: readonly PictureTable[]): string {
  const found = new Set(tables.flatMap((table) => (table.members ?? [table]).map((each) => each.namespace)));
  return found.size === 1 ? ([...found][0] ?? '') : '';
}

function about(table: PictureTable): string {
  const where = table.isolated ? `${NO_LINEAGE} · ${table.namespace}` : table.namespace;
  if ((table.isolated || table.id === 'stack:apart') && isOfJobs(table)) return NO_FLOW;
  if (table.kind === 'chain') return 'folded chain';
  if (table.id === 'stack:apart') return 'no edges in this graph';
  if (table.kind === 'stack') return table.isolated ? NO_LINEAGE : sideOf(table);
  if (table.kind === 'job') return `${table.level ?? 'job'} · ${(table.jobs ?? 1) > 1 ? `${count(table.jobs ?? 1)} jobs · ` : ''}${table.namespace}`;
  if (table.kind === 'group') return `${count(table.datasets ?? 0)} ${table.datasets === 1 ? 'dataset' : 'datasets'}${table.isolated ? ` · ${NO_LINEAGE}` : ''}${table.name && table.namespace && ` · ${table.namespace}`}`;
  return `${isBare(table) ? 'no column lineage · ' : ''}${where}`;
}

/** Return whether a table has writers, and none of them reports columns. */
const isBare = (table: PictureTable): boolean => !table.columnLineage && table.distance >= 0 && !table.isolated;

const isOfJobs = (table: PictureTable): boolean => table.members?.[0]?.kind === 'job';

function sideOf({ distance }: PictureTable): string {
  return distance < 0 ? 'upstream, folded' : distance > 0 ? 'downstream, folded' : 'others, folded';
}

/** The accessible name of a box: heading and subtitle as on the screen, the numbers of edges in and out, and the namespace of a table. */
export function accessibleName(table: PictureTable, common: string, ins: number, outs: number): string {
  const namespace = table.kind === 'table' ? `, ${table.namespace}` : '';
  return `${headingOf(table)} ${shortSubtitleOf(table, common)}, ${degrees(ins, outs)}${namespace}`;
}

export const degrees = (ins: number, outs: number): string => `${count(ins)} in, ${count(outs)} out`;
