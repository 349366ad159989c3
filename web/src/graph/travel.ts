// Where an arrow key leads from a box: along an edge, or to the next box of the layer.
import type { Layout } from './layout';
import type { Neighbours } from './ways';

const KEYS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'] as const;
type Key = (typeof KEYS)[number];

export const isTravel = (key: string): key is Key => (KEYS as readonly string[]).includes(key);

/** Return the box that is next, undefined where there is none. */
export function nextBox(here: string, key: Key, places: Layout['places'], beside: Neighbours): string | undefined {
  const start = places.get(here);
  if (!start) return undefined;
  const away = (id: string) => Math.abs((places.get(id)?.y ?? Infinity) - start.y);
  const isBack = (id: string) => Number((places.get(id)?.x ?? 0) <= start.x === (key === 'ArrowRight')); // a circle's way back comes last
  const nearest = (ids: Iterable<string>) => [...ids].filter((id) => id !== here && places.has(id)).sort((a, b) => isBack(a) - isBack(b) || away(a) - away(b))[0];
  if (key === 'ArrowLeft') return nearest(beside(here).ins);
  if (key === 'ArrowRight') return nearest(beside(here).outs);
  const isThere = (y: number) => (key === 'ArrowUp' ? y < start.y : y > start.y);
  return nearest([...places].filter(([, box]) => box.x === start.x && isThere(box.y)).map(([id]) => id));
}
