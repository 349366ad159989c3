// Search results: the address of each, and the recently opened ones.
import type { Schemas } from '../api/client';
import { to } from '../parts/links';

export type Found = Schemas['Found'];

const KEY = 'headwater-recent';
const KEPT = 8;

/** The address of a result. */
export function address(found: Found): string {
  const id = { namespace: found.namespace, name: found.name };
  if (found.kind === 'job') return to.job(id);
  if (found.kind === 'alias' && found.means) return to.dataset({ namespace: found.means.namespace, name: found.means.dataset });
  if (found.column) return to.column({ namespace: found.namespace, dataset: found.name, column: found.column });
  return to.dataset(id);
}

/** The key that identifies a result. */
export const identity = (found: Found): string =>
  [found.kind, found.namespace, found.name, found.column, found.tag].join('\n');

export function recent(): Found[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter(isFound) : [];
  } catch {
    return [];
  }
}

/** Check the type at run time: an older build may have stored another format. */
function isFound(kept: unknown): kept is Found {
  const each = kept as Partial<Found> | null;
  return [each?.kind, each?.namespace, each?.name].every((text) => typeof text === 'string');
}

/** Put a result first in the list of recently opened results. */
export function remember(found: Found): void {
  const others = recent().filter((each) => identity(each) !== identity(found));
  localStorage.setItem(KEY, JSON.stringify([found, ...others].slice(0, KEPT)));
}
