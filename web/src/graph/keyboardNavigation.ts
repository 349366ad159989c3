// Keyboard navigation: left and right follow edges, up and down move within a layer.
import type { Layout } from './layout';
import type { Neighbours } from './neighbours';

const KEYS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'] as const;
type Key = (typeof KEYS)[number];

export const isArrowKey = (key: string): key is Key => (KEYS as readonly string[]).includes(key);

/** Return the id of the next box, or undefined. */
export function nextBox(here: string, key: Key, places: Layout['places'], neighboursOf: Neighbours): string | undefined {
  const start = places.get(here);
  if (!start) return undefined;
  const away = (id: string) => Math.abs((places.get(id)?.y ?? Infinity) - start.y);
  const isBack = (id: string) => Number((places.get(id)?.x ?? 0) <= start.x === (key === 'ArrowRight')); // backward edges of cycles come last
  const nearest = (ids: Iterable<string>) => [...ids].filter((id) => id !== here && places.has(id)).sort((a, b) => isBack(a) - isBack(b) || away(a) - away(b))[0];
  if (key === 'ArrowLeft') return nearest(neighboursOf(here).ins);
  if (key === 'ArrowRight') return nearest(neighboursOf(here).outs);
  const isThere = (y: number) => (key === 'ArrowUp' ? y < start.y : y > start.y);
  return nearest([...places].filter(([, box]) => box.x === start.x && isThere(box.y)).map(([id]) => id));
}
