// Loads the code of pages when they are needed. While the server does not respond, it tries again. If the server has a
// newer build, the files of this build no longer exist: then the user has to reload.
import { useSyncExternalStore } from 'react';

/** whole: all code is loaded; late: a load is being repeated; newer: the server has another build. */
export type LoadState = 'whole' | 'late' | 'newer';

const AGAIN_MS = [500, 1_000, 2_000];
const TRIES_OF_ONE_BUILD = 4; // more attempts do not help if the server responds

const listeners = new Set<() => void>();
let isNewer = false;
let late = 0;

function change(waiting: number, newer = isNewer): void {
  late += waiting;
  isNewer = newer;
  for (const listener of listeners) listener();
}

export function useLoadState(): LoadState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => (isNewer ? 'newer' : late > 0 ? 'late' : 'whole'),
  );
}

/** Load code, and try again until the server responds. Throws if the server has the file but the browser cannot run it. */
export async function loadWithRetry<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    change(1);
  }
  try {
    return await again(load);
  } finally {
    change(-1);
  }
}

async function again<T>(load: () => Promise<T>): Promise<T> {
  for (let [failures, tries] = [0, 1]; ; failures += 1) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)]));
    const there = await checkForNewBuild();
    if (there === undefined) continue;
    if (isNewer) await new Promise<never>(() => undefined); // until the user reloads
    tries += 1;
    try {
      return await load();
    } catch (error) {
      if (tries >= TRIES_OF_ONE_BUILD) throw error;
    }
  }
}

/** Return whether the server has another build than this page; undefined if it does not respond. */
export async function checkForNewBuild(): Promise<boolean | undefined> {
  const page = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-cache' })
    .then((answer) => (answer.ok ? answer.text() : undefined))
    .catch(() => undefined);
  const scripts = [...document.querySelectorAll<HTMLScriptElement>('script[type=module][src]')];
  if (!page?.includes('<script type="module"')) return undefined; // an error page of a proxy
  const newer = scripts.some((script) => !page.includes(new URL(script.src).pathname));
  if (newer) change(0, true);
  return newer;
}
