// The path of the box or column under the pointer: everything upstream and downstream of it, along the drawn edges.
import { createContext, useContext, useSyncExternalStore } from 'react';

import type { Picture, PictureEdge } from './picture';

/** The key of one end of an edge: a column of a box, or the box. */
export const endKey = (table: string, column = ''): string => JSON.stringify([table, column]);

interface Highlighted {
  /** Ids of edges. */
  edges: ReadonlySet<string>;
  /** Keys of ends. */
  ends: ReadonlySet<string>;
}

/** Return the edges and ends upstream and downstream of an end. Only edges with these exact ends are followed. */
export function pathThrough(edges: readonly PictureEdge[], start: string): Highlighted {
  const [after, before] = [new Map<string, [string, string][]>(), new Map<string, [string, string][]>()];
  for (const edge of edges) {
    const [from, to] = [endKey(edge.from, edge.fromColumn), endKey(edge.to, edge.toColumn)];
    after.set(from, [...(after.get(from) ?? []), [edge.id, to]]);
    before.set(to, [...(before.get(to) ?? []), [edge.id, from]]);
  }
  const [found, ends] = [new Set<string>(), new Set([start])];
  for (const next of [after, before]) {
    const queue = [start];
    const seen = new Set(queue);
    for (const end of queue)
      for (const [edge, other] of next.get(end) ?? []) {
        found.add(edge);
        ends.add(other);
        if (!seen.has(other)) {
          seen.add(other);
          queue.push(other);
        }
      }
  }
  return { edges: found, ends };
}

/** Holds the highlighted path outside of React, so that a move of the pointer renders only what changes. */
export class Highlight {
  private path: Highlighted | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly picture: Picture) {}

  /** Highlight the path through an end; undefined ends it. An end without edges highlights nothing. */
  show(end: string | undefined): void {
    const path = end === undefined ? undefined : pathThrough(this.picture.edges, end);
    const next = path?.edges.size ? path : undefined;
    if (!next && !this.path) return;
    this.path = next;
    for (const listener of this.listeners) listener();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  isActive = (): boolean => this.path !== undefined;
  hasEdge = (id: string): boolean => this.path?.edges.has(id) ?? false;
  hasEnd = (key: string): boolean => this.path?.ends.has(key) ?? false;
}

export const HighlightContext = createContext<Highlight | null>(null);

const NEVER = (): (() => void) => () => undefined;

/** Return whether an edge is on the highlighted path. */
export function useIsEdgeOnPath(id: string): boolean {
  const highlight = useContext(HighlightContext);
  return useSyncExternalStore(highlight?.subscribe ?? NEVER, () => highlight?.hasEdge(id) ?? false);
}

/** Return whether a column of a box, or a box, is on the highlighted path. */
export function useIsEndOnPath(key: string): boolean {
  const highlight = useContext(HighlightContext);
  return useSyncExternalStore(highlight?.subscribe ?? NEVER, () => highlight?.hasEnd(key) ?? false);
}

/** Return whether a path is highlighted, so that everything else is dimmed. */
export function useHasPath(highlight: Highlight): boolean {
  return useSyncExternalStore(highlight.subscribe, highlight.isActive);
}
