// The icon of a box: its system, or its kind.
import type { IconName } from '../design/icons';
import type { PictureTable } from './picture';
import { systemOf } from './words';

const ICONS: Readonly<Record<string, IconName>> = {
  OneLake: 'lakehouse', ADLS: 'cloud', S3: 'cloud', 'Cloud Storage': 'cloud', Files: 'files', HDFS: 'files', Kafka: 'stream', Snowflake: 'snowflake', 'Unity Catalog': 'lakehouse',
  Athena: 'database', BigQuery: 'database', 'Cosmos DB': 'database', DuckDB: 'database', Hive: 'database', MySQL: 'database', Oracle: 'database', PostgreSQL: 'database',
  Redshift: 'database', 'SQL Server': 'database', Teradata: 'database', Trino: 'database',
}; // prettier-ignore

export function systemIcon(table: Pick<PictureTable, 'kind' | 'namespace' | 'name'>): IconName {
  if (table.kind === 'job') return 'job';
  if (table.kind !== 'table') return 'group';
  if (/(^|\/)Files\//.test(table.name)) return 'files';
  return ICONS[systemOf(table.namespace)[0]] ?? 'dataset';
}
