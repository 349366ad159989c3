// Every view has its own address; names travel as query parameters because they hold slashes.
import { queryText } from '../api/client';
import type { Id } from '../api/marquez';

export interface ColumnName {
  namespace: string;
  dataset: string;
  column?: string | null;
}

export const to = {
  dataset: (id: Id) => `/dataset${queryText({ namespace: id.namespace, name: id.name })}`,
  job: (id: Id) => `/job${queryText({ namespace: id.namespace, name: id.name })}`,
  run: (id: string) => `/run${queryText({ id })}`,
  lineage: (subject: ColumnName, more: object = {}) => `/lineage${queryText({ ...subject, ...more })}`,
  events: (query: object) => `/events${queryText(query)}`,
};

/** The last two parts of a name: what people call a table; the whole name stays in titles and on its page. */
export function shortName(name: string): string {
  const parts = name.split('/').filter(Boolean);
  return parts.length > 2 ? parts.slice(-2).join('/') : name;
}
