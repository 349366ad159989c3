// Aliases of a dataset: symlinks from its producers, and other names that the search resolves to it.
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

/** Check the type at run time: a producer may have sent other values in the list. */
function isNamed(sent: unknown): sent is Id {
  const each = sent as Partial<Id> | null;
  return typeof each?.namespace === 'string' && typeof each.name === 'string';
}
