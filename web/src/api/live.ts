// The live stream: read with fetch, because an EventSource cannot send a key; comes back where it was.
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { useSyncExternalStore } from 'react';

import { headers, key } from './client';
import { Feed, isHappened } from './feed';
import { queryClient } from './hooks';

export type LiveState = 'connecting' | 'live' | 'away' | 'polling' | 'refused';
type Ended = 'heard' | 'left' | 'away' | 'polling' | 'refused';

const FRESH_MS = 1_000;
const POLL_MS = 10_000;
const BACK_MS = [500, 1_000, 2_000, 4_000];

export const feed = new Feed();

let state: LiveState = 'connecting';
const listeners = new Set<() => void>();
let lastId: string | undefined;
let refresh: ReturnType<typeof setTimeout> | undefined;

function become(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

/** Ask anew for what is on the page, once a second at most; what was asked about the past does not change. */
function freshen(): void {
  refresh ??= setTimeout(() => {
    refresh = undefined;
    void queryClient.invalidateQueries({ predicate: (query) => !query.meta?.ownPace && !isPast(query.queryKey[1]) });
  }, FRESH_MS);
}

function isPast(query: unknown): boolean {
  return typeof query === 'object' && query !== null && Boolean((query as { asOf?: string; until?: string }).asOf ?? (query as { until?: string }).until);
}

/** Listen until the page closes; only while it is in sight, because a browser has six connections to a host. */
export async function listen(): Promise<never> {
  for (let failures = 0; ; ) {
    await inSight();
    const ended = await once();
    if (ended === 'left') continue;
    if (ended === 'heard') failures = 0;
    become(ended === 'heard' ? 'away' : ended);
    if (ended === 'polling') freshen();
    const isAway = ended === 'heard' || ended === 'away';
    await pause((isAway ? BACK_MS[Math.min(failures++, BACK_MS.length - 1)] : undefined) ?? POLL_MS);
  }
}

/** Wait a while, less where there is another key meanwhile. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    const unheard = key.whenChanged(done);
    function done() {
      clearTimeout(timer);
      unheard();
      resolve();
    }
  });
}

function inSight(): Promise<void> {
  return new Promise((resolve) => {
    if (!document.hidden) resolve();
    else document.addEventListener('visibilitychange', () => resolve(), { once: true });
  });
}

/** Read one stream until it ends, the page goes out of sight, or there is another key; nothing of it is held afterwards. */
async function once(): Promise<Ended> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  document.addEventListener('visibilitychange', leave);
  const unheard = key.whenChanged(leave);
  try {
    return await hear(gone.signal);
  } catch {
    return gone.signal.aborted ? 'left' : 'away';
  } finally {
    document.removeEventListener('visibilitychange', leave);
    unheard();
  }
}

/** Read one stream to its end; `polling` where there is none, as on a Function App. */
async function hear(signal: AbortSignal): Promise<Ended> {
  const resume: Record<string, string> = lastId ? { 'last-event-id': lastId } : {};
  const answer = await fetch('/api/headwater/v1/live', { headers: { ...headers(), ...resume }, signal });
  if (answer.status === 404) return 'polling';
  if (answer.status === 401 || answer.status === 403) return 'refused';
  if (!answer.ok || !answer.body) return 'away';
  become('live');
  freshen();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return 'heard';
    lastId = value.id ?? lastId;
    const kind = value.event ?? '';
    const told = { id: value.id ?? '', kind, value: JSON.parse(value.data) as unknown };
    if (isHappened(told)) feed.add(told);
    if (kind !== 'hello') freshen();
  }
}

export function useFeed(): ReturnType<typeof feed.newest> {
  return useSyncExternalStore(feed.subscribe, feed.newest);
}
