import { useEffect, useMemo, useState } from 'react';

import { layOut, type Graph, type Layout } from './layout';
import type { Picture } from './picture';
import { graphOf } from './shape';

export interface Laid extends Layout {
  picture: Picture;
}

let worker: Worker | undefined;
let turns = 0;

/** Lay out in the worker; in the page where the worker is not to be had. */
function inWorker(graph: Graph, done: (layout: Layout) => void): void {
  worker ??= new Worker(new URL('./layoutWorker.ts', import.meta.url), { type: 'module' });
  const [asked, turn] = [worker, (turns += 1)];
  const answered = ({ data }: MessageEvent<{ turn: number; layout: Layout }>) => data.turn === turn && ended(data.layout);
  const failed = () => {
    worker = undefined; // the next one tries again
    ended(layOut(graph));
  };
  function ended(layout: Layout): void {
    asked.removeEventListener('message', answered);
    asked.removeEventListener('error', failed);
    done(layout);
  }
  asked.addEventListener('message', answered);
  asked.addEventListener('error', failed);
  asked.postMessage({ turn, graph });
}

/** Lay a picture out anew when its boxes or edges change; until then the last one that was laid out stays. */
export function useLayout(picture: Picture | undefined, opened: ReadonlySet<string>): Laid | undefined {
  const graph = useMemo(() => picture && graphOf(picture, opened), [picture, opened]);
  const shape = useMemo(() => JSON.stringify(graph), [graph]);
  const [placed, setPlaced] = useState<{ shape: string; layout: Layout; picture: Picture }>();
  useEffect(() => {
    if (!picture || !graph) return undefined;
    let wanted = true;
    inWorker(graph, (layout) => wanted && setPlaced({ shape, layout, picture }));
    return () => {
      wanted = false;
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what has the same shape has the same layout
  }, [shape]);
  return useMemo(
    () => placed && { ...placed.layout, picture: placed.shape === shape && picture ? picture : placed.picture },
    [placed, shape, picture],
  );
}
