import { useEffect, useState } from 'react';

import { drafting, type Drafted, type Wanted } from './drafting';
import type { Folding } from './fold';
import type { Layout } from './layout';
import type { Picture } from './picture';

export interface Laid extends Layout {
  /** What is drawn of the whole. */
  picture: Picture;
}

let worker: Worker | undefined;
let turns = 0;

/** Fold and lay out in the worker; in the page where the worker is not to be had. */
function inWorker(wanted: Omit<Wanted, 'turn'>, done: (drafted: Drafted) => void): void {
  worker ??= new Worker(new URL('./layoutWorker.ts', import.meta.url), { type: 'module' });
  const [asked, turn] = [worker, (turns += 1)];
  const answered = ({ data }: MessageEvent<Drafted>) => data.turn === turn && ended(data);
  const failed = () => {
    worker = undefined; // the next one tries again
    ended(drafting()({ ...wanted, turn }));
  };
  function ended(drafted: Drafted): void {
    asked.removeEventListener('message', answered);
    asked.removeEventListener('error', failed);
    done(drafted);
  }
  asked.addEventListener('message', answered);
  asked.addEventListener('error', failed);
  asked.postMessage({ ...wanted, turn });
}

/** Draw a picture up anew when it, what is folded or what is opened changes; until then the last one stays. */
export function useLayout(whole: Picture | undefined, folding: Folding | undefined, opened: ReadonlySet<string>): Laid | undefined {
  const [laid, setLaid] = useState<Laid & { laidIn: number }>();
  useEffect(() => {
    if (!whole) return undefined;
    let wanted = true;
    inWorker({ whole, folding, opened }, ({ picture, layout, laidIn }) => {
      if (wanted) setLaid((before) => (before?.laidIn === laidIn ? { ...before, picture } : { ...layout, picture, laidIn }));
    });
    return () => {
      wanted = false;
    };
  }, [whole, folding, opened]);
  return laid;
}
