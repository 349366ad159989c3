// The live stream of events. It uses fetch, because an EventSource cannot send a key. A new stream resumes after the last event id.
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { useSyncExternalStore } from 'react';

import { headers, key } from './client';
import { Feed, isLiveEvent } from './feed';
import { queryClient } from './hooks';

export type LiveState = 'connecting' | 'live' | 'away' | 'polling' | 'refused';
type StreamEnd = 'heard' | 'left' | 'away' | 'polling' | 'refused';

const FRESH_MS = 1_000;
const POLL_MS = 10_000;
const BACK_MS = [500, 1_000, 2_000, 4_000];

export const feed = new Feed();

let state: LiveState = 'connecting';
const listeners = new Set<() => void>();
let lastId: string | undefined;
let refresh: ReturnType<typeof setTimeout> | undefined;

function setState(next: LiveState): void {
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

/** Refresh the questions on the page, at most once a second. Answers about the past do not change, so such questions are not repeated. */
function scheduleRefresh(): void {
  refresh ??= setTimeout(() => {
    refresh = undefined;
    void queryClient.invalidateQueries({ predicate: (query) => !query.meta?.ownPace && !isPast(query.queryKey[1]) });
  }, FRESH_MS);
}

function isPast(query: unknown): boolean {
  return typeof query === 'object' && query !== null && Boolean((query as { asOf?: string; until?: string }).asOf ?? (query as { until?: string }).until);
}

/** Listen until the page closes, and only while it is visible, because a browser opens six connections per host. */
export async function listen(): Promise<never> {
  for (let failures = 0; ; ) {
    await whenVisible();
    const ended = await listenOnce();
    if (ended === 'left') continue;
    if (ended === 'heard') failures = 0;
    setState(ended === 'heard' ? 'away' : ended);
    if (ended === 'polling') scheduleRefresh();
    const isAway = ended === 'heard' || ended === 'away';
    await wait((isAway ? BACK_MS[Math.min(failures++, BACK_MS.length - 1)] : undefined) ?? POLL_MS);
  }
}

/** Wait until the time has passed or the key has changed. */
function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    const unsubscribe = key.onChange(done);
    function done() {
      clearTimeout(timer);
      unsubscribe();
      resolve();
    }
  });
}

function whenVisible(): Promise<void> {
  return new Promise((resolve) => {
    if (!document.hidden) resolve();
    else document.addEventListener('visibilitychange', () => resolve(), { once: true });
  });
}

/** Read one stream until the stream ends, the page becomes hidden, or the key changes. */
async function listenOnce(): Promise<StreamEnd> {
  const abort = new AbortController();
  const leave = () => abort.abort();
  document.addEventListener('visibilitychange', leave);
  const unsubscribe = key.onChange(leave);
  try {
    return await readStream(abort.signal);
  } catch {
    return abort.signal.aborted ? 'left' : 'away';
  } finally {
    document.removeEventListener('visibilitychange', leave);
    unsubscribe();
  }
}

/** Read one stream to its end. Returns `polling` if the server has no stream, as on a Function App. */
async function readStream(signal: AbortSignal): Promise<StreamEnd> {
  const resume: Record<string, string> = lastId ? { 'last-event-id': lastId } : {};
  const answer = await fetch('/api/headwater/v1/live', { headers: { ...headers(), ...resume }, signal });
  if (answer.status === 404) return 'polling';
  if (answer.status === 401 || answer.status === 403) return 'refused';
  if (!answer.ok || !answer.body) return 'away';
  setState('live');
  scheduleRefresh();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return 'heard';
    lastId = value.id ?? lastId;
    const kind = value.event ?? '';
    const event = { id: value.id ?? '', kind, value: JSON.parse(value.data) as unknown };
    if (isLiveEvent(event)) feed.add(event);
    if (kind !== 'hello') scheduleRefresh();
  }
}

export function useFeed(): ReturnType<typeof feed.newest> {
  return useSyncExternalStore(feed.subscribe, feed.newest);
}
