import { useEffect, useState } from 'react';

import { createLayoutPipeline, type LayoutResponse, type LayoutRequest } from './layoutPipeline';
import type { Folding } from './fold';
import type { Layout } from './layout';
import type { Picture } from './picture';

export interface GraphLayout extends Layout {
  /** The folded picture. */
  picture: Picture;
}

let worker: Worker | undefined;
let requestCount = 0;

/** Fold and lay out in the worker, or in the page if the worker cannot be loaded. */
function inWorker(wanted: Omit<LayoutRequest, 'requestId'>, done: (response: LayoutResponse) => void): void {
  worker ??= new Worker(new URL('./layoutWorker.ts', import.meta.url), { type: 'module' });
  const [current, requestId] = [worker, (requestCount += 1)];
  const answered = ({ data }: MessageEvent<LayoutResponse>) => data.requestId === requestId && ended(data);
  const failed = () => {
    worker = undefined; // the next request starts a new worker
    ended(createLayoutPipeline()({ ...wanted, requestId }));
  };
  function ended(response: LayoutResponse): void {
    current.removeEventListener('message', answered);
    current.removeEventListener('error', failed);
    done(response);
  }
  current.addEventListener('message', answered);
  current.addEventListener('error', failed);
  current.postMessage({ ...wanted, requestId });
}

/** Compute the layout when the picture, the folding or the opened tables change. Returns the previous layout until then. */
export function useLayout(whole: Picture | undefined, folding: Folding | undefined, opened: ReadonlySet<string>): GraphLayout | undefined {
  const [layout, setLayout] = useState<GraphLayout & { layoutRequest: number }>();
  useEffect(() => {
    if (!whole) return undefined;
    let wanted = true;
    inWorker({ whole, folding, opened }, ({ picture, layout, layoutRequest }) => {
      if (wanted) setLayout((before) => (before?.layoutRequest === layoutRequest ? { ...before, picture } : { ...layout, picture, layoutRequest }));
    });
    return () => {
      wanted = false;
    };
  }, [whole, folding, opened]);
  return layout;
}
