// The columns of a dataset with type, tags, lineage, verdict and exposure.
import type { Schemas } from '../api/client';
import type { Dataset } from '../api/marquez';
import { shortName } from '../parts/links';

export interface ColumnRow {
  name: string;
  type: string;
  tags: readonly string[];
  description: string;
  madeOf: readonly string[];
  verdict: string;
  reason: string;
  exposure: string;
}

/** Return whether values may come from this input. Filters, joins and sorts pass no values. Without transformations, they may. */
function isDirect({ transformations }: Schemas['MarquezInputField']): boolean {
  return !transformations.length || transformations.some((each) => each.type !== 'INDIRECT');
}

/** Join schema, column lineage, verdicts and masking surface by column name, ignoring case, in schema order. */
export function columnsOf(
  dataset: Pick<Dataset, 'namespace' | 'name' | 'fields' | 'columnLineage'>,
  verdicts: readonly Schemas['Verdict'][],
  surface: Pick<Schemas['Surface'], 'items' | 'sources'> | undefined,
): ColumnRow[] {
  const sources = byColumn(dataset.columnLineage ?? [], (each) => each.name);
  const judged = byColumn(verdicts, (each) => each.column);
  const isHere = (each: { namespace: string; dataset: string }) => each.namespace === dataset.namespace && each.dataset === dataset.name;
  const exposed = byColumn(surface?.items.filter(isHere) ?? [], (each) => each.column);
  const tagged = byColumn(surface?.sources.filter(isHere) ?? [], (each) => each.column);
  const known = new Set(dataset.fields.map((field) => field.name.toLowerCase()));
  const unlisted = (dataset.columnLineage ?? []).filter((each) => !known.has(each.name.toLowerCase()));
  const fields = [...dataset.fields, ...unlisted.map(({ name }) => ({ name, type: null, tags: [], description: null }))];
  return fields.map(({ name, type, tags, description }) => ({
    name,
    type: type ?? '',
    tags,
    description: description ?? '',
    madeOf: (sources(name)?.inputFields ?? []).filter(isDirect).map((from) => `${shortName(from.dataset)}.${from.field}`),
    verdict: judged(name)?.verdict ?? '',
    reason: judged(name)?.reason ?? '',
    exposure: exposed(name)?.exposure ?? (tagged(name) ? 'tagged' : ''),
  }));
}

function byColumn<T>(items: readonly T[], name: (item: T) => string | null): (column: string) => T | undefined {
  const found = new Map(items.map((item) => [name(item)?.toLowerCase(), item]));
  return (column) => found.get(column.toLowerCase());
}
