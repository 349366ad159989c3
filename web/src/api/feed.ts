// What happened of late, kept outside React: a ring of bounded length, told to the page a few times a second at most.
import type { Schemas } from './client';

interface Told {
  run: Schemas['RunHappened'];
  edge: Schemas['EdgeHappened'];
  rejected: Schemas['RejectedHappened'];
}

export type Happened = { [Kind in keyof Told]: { id: string; kind: Kind; value: Told[Kind] } }[keyof Told];

const KINDS: ReadonlySet<string> = new Set<keyof Told>(['run', 'edge', 'rejected']);

/** Tell what is of the feed from what is only of the stream. */
export function isHappened(each: { id: string; kind: string; value: unknown }): each is Happened {
  return KINDS.has(each.kind);
}

export const KEPT = 200;
const TELL_MS = 250;

export class Feed {
  private items: Happened[] = [];
  private shown: readonly Happened[] = [];
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  total = 0;

  constructor(private readonly kept = KEPT) {}

  add(happened: Happened): void {
    this.total += 1;
    this.items.push(happened);
    if (this.items.length > 2 * this.kept) this.items = this.items.slice(-this.kept);
    this.timer ??= setTimeout(this.tell, TELL_MS);
  }

  /** The newest first; the same array until something else is shown. */
  readonly newest = (): readonly Happened[] => this.shown;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  private readonly tell = (): void => {
    this.timer = undefined;
    this.shown = this.items.slice(-this.kept).reverse();
    for (const listener of this.listeners) listener();
  };
}
