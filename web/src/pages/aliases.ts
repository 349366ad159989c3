// What else a dataset is called: by its producers' symlinks, and by names that search knows to mean it.
import type { Schemas } from '../api/client';
import type { Facets, Id } from '../api/marquez';

/** List the aliases of a dataset, each once, sorted. */
export function aliasesOf(id: Id, facets: Facets, found: readonly Schemas['Found'][]): string[] {
  const symlinks = facets.symlinks as { identifiers?: unknown } | null | undefined;
  const sent = Array.isArray(symlinks?.identifiers) ? symlinks.identifiers.filter(isNamed).map((each) => `${each.namespace}/${each.name}`) : [];
  const known = found
    .filter((each) => each.means?.namespace === id.namespace && each.means.dataset === id.name)
    .map((each) => (each.namespace ? `${each.namespace}/${each.name}` : each.name));
  return [...new Set([...sent, ...known])].sort();
}

/** Tell an identifier from what else a producer may have put into the list. */
function isNamed(sent: unknown): sent is Id {
  const each = sent as Partial<Id> | null;
  return typeof each?.namespace === 'string' && typeof each.name === 'string';
}
