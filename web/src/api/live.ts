// The live stream: read with fetch, because an EventSource cannot send a key; comes back where it was.
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { useSyncExternalStore } from 'react';

import { headers, key } from './client';
import { Feed, isHappened } from './feed';
import { queryClient } from './hooks';

export type LiveState = 'connecting' | 'live' | 'away' | 'polling';

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
    const ended = await once().catch(() => (document.hidden ? ('heard' as const) : ('away' as const)));
    if (document.hidden) continue;
    if (ended === 'heard') failures = 0;
    become(ended === 'polling' ? 'polling' : 'away');
    if (ended === 'polling') freshen();
    const pause = ended === 'polling' ? POLL_MS : (BACK_MS[Math.min(failures++, BACK_MS.length - 1)] ?? POLL_MS);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function inSight(): Promise<void> {
  return new Promise((resolve) => {
    if (!document.hidden) resolve();
    else document.addEventListener('visibilitychange', () => resolve(), { once: true });
  });
}

/** Read one stream until it ends or the page goes out of sight; nothing of it is held afterwards. */
async function once(): Promise<'heard' | 'away' | 'polling'> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  document.addEventListener('visibilitychange', leave);
  try {
    return await hear(gone.signal);
  } finally {
    document.removeEventListener('visibilitychange', leave);
  }
}

/** Read one stream to its end; `polling` where there is none, as on a Function App. */
async function hear(signal: AbortSignal): Promise<'heard' | 'away' | 'polling'> {
  const resume: Record<string, string> = lastId ? { 'last-event-id': lastId } : {};
  const answer = await fetch('/api/headwater/v1/live', { headers: { ...headers(), ...resume }, signal });
  if (answer.status === 404) return 'polling';
  if (!answer.ok || !answer.body) return key.get() || answer.status !== 401 ? 'away' : 'polling';
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
