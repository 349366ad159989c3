// Every view has its own address; names travel as query parameters because they hold slashes.
import { queryText } from '../api/client';
import type { Id } from '../api/marquez';

export interface ColumnName {
  namespace: string;
  dataset: string;
  column?: string | null;
  /** What people call the dataset, where that is not its canonical name. */
  display_name?: string | undefined;
}

/** The members of a column's address: rows of answers have more. */
const asked = ({ namespace, dataset, column }: ColumnName) => ({ namespace, dataset, column });

export const to = {
  dataset: (id: Id) => `/dataset${queryText({ namespace: id.namespace, name: id.name })}`,
  job: (id: Id) => `/job${queryText({ namespace: id.namespace, name: id.name })}`,
  /** The jobs around one, as boxes. */
  jobGraph: (id: Id, more: object = {}) => `/job-graph${queryText({ namespace: id.namespace, job: id.name, ...more })}`,
  run: (id: string) => `/run${queryText({ id })}`,
  lineage: (subject: ColumnName, more: object = {}) => `/lineage${queryText({ ...asked(subject), ...more })}`,
  /** Where a column's values end up in the clear. */
  surface: (column: ColumnName) => `/surface${queryText(asked(column))}`,
  /** All that is made of a column, by filters, joins and groups, too. */
  impact: (column: ColumnName) => `/lineage${queryText({ ...asked(column), up: 0, mode: 'any' })}`,
  unused: (of: ColumnName, verdict: string) => `/unused${queryText({ namespace: of.namespace, dataset: of.dataset, verdict })}`,
  events: (query: object) => `/events${queryText(query)}`,
};

/** The last two parts of a name: what people call a table; the whole name stays in titles and on its page. */
export function shortName(name: string): string {
  const parts = name.split('/').filter(Boolean);
  return parts.length > 2 ? parts.slice(-2).join('/') : name;
}
