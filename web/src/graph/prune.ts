// Hides the tables behind a folded table, unless another path connects them with the subject.
import type { Picture } from './picture';

export type Side = 'up' | 'down';

/** Remove the tables that are reachable only through folded tables. folds: ids with their side, such as `up:dataset:…`. */
export function prune(picture: Picture, folds: ReadonlySet<string>): Picture {
  const start = picture.tables.find((table) => table.subject);
  if (!folds.size || !start) return picture;
  const kept = new Set([start.id, ...reach(picture, start.id, 'up', folds), ...reach(picture, start.id, 'down', folds)]);
  return {
    ...picture,
    tables: picture.tables.filter((table) => kept.has(table.id)),
    edges: picture.edges.filter((edge) => kept.has(edge.from) && kept.has(edge.to)),
  };
}

function reach(picture: Picture, start: string, side: Side, folds: ReadonlySet<string>): Set<string> {
  const next = new Map<string, string[]>();
  for (const edge of picture.edges) {
    const [near, far] = side === 'down' ? [edge.from, edge.to] : [edge.to, edge.from];
    next.set(near, [...(next.get(near) ?? []), far]);
  }
  const seen = new Set<string>();
  const queue = [start];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (folds.has(`${side}:${id}`)) continue;
    for (const far of next.get(id) ?? [])
      if (!seen.has(far)) {
        seen.add(far);
        queue.push(far);
      }
  }
  return seen;
}
