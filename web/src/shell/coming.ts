// Parts of the page come when they are needed. While Headwater is away they are asked for again; where it has become
// a newer one, their files are gone: then only a reload brings the page, and the user says when.
import { useSyncExternalStore } from 'react';

/** late: a part is asked for again; newer: Headwater serves another page than this one. */
export type Coming = 'whole' | 'late' | 'newer';

const AGAIN_MS = [500, 1_000, 2_000];
const TRIES_OF_ONE_BUILD = 4; // then it is no question of time

const listeners = new Set<() => void>();
let isNewer = false;
let late = 0;

function change(waiting: number, newer = isNewer): void {
  late += waiting;
  isNewer = newer;
  for (const listener of listeners) listener();
}

export function useComing(): Coming {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => (isNewer ? 'newer' : late > 0 ? 'late' : 'whole'),
  );
}

/** Load a part, again until it is there; throws what Headwater has and the browser cannot take. */
export async function loaded<T>(load: () => Promise<T>): Promise<T> {
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
    const there = await lookForNewer();
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

/** Tell whether Headwater serves another page than this one; undefined where it does not answer. */
export async function lookForNewer(): Promise<boolean | undefined> {
  const page = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-cache' })
    .then((answer) => (answer.ok ? answer.text() : undefined))
    .catch(() => undefined);
  const scripts = [...document.querySelectorAll<HTMLScriptElement>('script[type=module][src]')];
  if (!page?.includes('<script type="module"')) return undefined; // a proxy's own page
  const newer = scripts.some((script) => !page.includes(new URL(script.src).pathname));
  if (newer) change(0, true);
  return newer;
}
