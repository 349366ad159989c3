// The newest live events, stored outside React in a bounded list. Listeners are called at most four times a second.
import type { Schemas } from './client';

interface LiveEventValues {
  run: Schemas['RunHappened'];
  edge: Schemas['EdgeHappened'];
  rejected: Schemas['RejectedHappened'];
}

export type LiveEvent = { [Kind in keyof LiveEventValues]: { id: string; kind: Kind; value: LiveEventValues[Kind] } }[keyof LiveEventValues];

const KINDS: ReadonlySet<string> = new Set<keyof LiveEventValues>(['run', 'edge', 'rejected']);

/** Whether an event of the stream belongs into the feed. */
export function isLiveEvent(each: { id: string; kind: string; value: unknown }): each is LiveEvent {
  return KINDS.has(each.kind);
}

export const MAX_EVENTS = 200;
const NOTIFY_MS = 250;

export class Feed {
  private items: LiveEvent[] = [];
  private shown: readonly LiveEvent[] = [];
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  total = 0;

  constructor(private readonly limit = MAX_EVENTS) {}

  add(event: LiveEvent): void {
    this.total += 1;
    this.items.push(event);
    if (this.items.length > 2 * this.limit) this.items = this.items.slice(-this.limit);
    this.timer ??= setTimeout(this.notify, NOTIFY_MS);
  }

  /** The events, newest first. Returns the same array until it changes, as React requires. */
  readonly newest = (): readonly LiveEvent[] => this.shown;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  private readonly notify = (): void => {
    this.timer = undefined;
    this.shown = this.items.slice(-this.limit).reverse();
    for (const listener of this.listeners) listener();
  };
}
