// Addresses of pages. Names are query parameters because they contain slashes.
import { queryText } from '../api/client';
import type { Id } from '../api/marquez';

export interface ColumnName {
  namespace: string;
  dataset: string;
  column?: string | null;
  /** The display name of the dataset, if it differs from the canonical name. */
  display_name?: string | undefined;
}

/** Pick the parameters of a column's address; rows of answers have more fields. */
const columnParameters = ({ namespace, dataset, column }: ColumnName) => ({ namespace, dataset, column });

export const to = {
  dataset: (id: Id) => `/dataset${queryText({ namespace: id.namespace, name: id.name })}`,
  column: (column: ColumnName) => `/column${queryText(columnParameters(column))}`,
  job: (id: Id) => `/job${queryText({ namespace: id.namespace, name: id.name })}`,
  /** The job graph around one job. */
  jobGraph: (id: Id, more: object = {}) => `/job-graph${queryText({ namespace: id.namespace, job: id.name, ...more })}`,
  run: (id: string) => `/run${queryText({ id })}`,
  lineage: (subject: ColumnName, more: object = {}) => `/lineage${queryText({ ...columnParameters(subject), ...more })}`,
  /** The masking surface of a column. */
  surface: (column: ColumnName) => `/surface${queryText(columnParameters(column))}`,
  /** Everything downstream of a column, including filters, joins and groups. */
  impact: (column: ColumnName) => `/lineage${queryText({ ...columnParameters(column), up: 0, mode: 'any' })}`,
  unused: (of: ColumnName, verdict: string) => `/unused${queryText({ namespace: of.namespace, dataset: of.dataset, verdict })}`,
  events: (query: object) => `/events${queryText(query)}`,
};

/** Return the last two parts of a path-like name. Tooltips and pages show the full name. */
export function shortName(name: string): string {
  const parts = name.split('/').filter(Boolean);
  return parts.length > 2 ? parts.slice(-2).join('/') : name;
}
