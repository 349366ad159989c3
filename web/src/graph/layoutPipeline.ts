// Folds a picture and lays it out. This runs in a worker, because thousands of tables take seconds.
import { fold, foldRows, type Folding } from './fold';
import { layOut, type Layout } from './layout';
import type { Picture } from './picture';
import { graphOf } from './shape';

export interface LayoutRequest {
  requestId: number;
  whole: Picture;
  /** How to fold the picture; undefined does not fold it. */
  folding: Folding | undefined;
  /** Tables that show all their columns. */
  opened: ReadonlySet<string>;
}

export interface LayoutResponse {
  requestId: number;
  picture: Picture;
  layout: Layout;
  /** The request that computed this layout. Pictures of the same shape share one layout. */
  layoutRequest: number;
}

/** Return a function that folds and lays out pictures. It reuses the last layout for a picture of the same shape. */
export function createLayoutPipeline(): (request: LayoutRequest) => LayoutResponse {
  let last: { shape: string; layoutRequest: number; layout: Layout } | undefined;
  return ({ requestId, whole, folding, opened }) => {
    const picture = foldRows(folding ? fold(whole, folding) : whole, opened);
    const graph = graphOf(picture, opened);
    const shape = JSON.stringify(graph);
    if (last?.shape !== shape) last = { shape, layoutRequest: requestId, layout: layOut(graph) };
    return { requestId, picture, layout: last.layout, layoutRequest: last.layoutRequest };
  };
}
