// From a whole picture to what is drawn of it: folded, rows added up, laid out. Of thousands of tables that is work for
// the worker; the page only shows what came of it.
import { fold, foldRows, type Folding } from './fold';
import { layOut, type Layout } from './layout';
import type { Picture } from './picture';
import { graphOf } from './shape';

export interface Wanted {
  turn: number;
  whole: Picture;
  /** Nothing is folded without it. */
  folding: Folding | undefined;
  /** Tables that show all their columns. */
  opened: ReadonlySet<string>;
}

export interface Drafted {
  turn: number;
  picture: Picture;
  layout: Layout;
  /** The turn that made this layout: pictures of one shape have one. */
  laidIn: number;
}

/** Draft one picture after the other; one of the same shape as the last keeps its layout. */
export function drafting(): (wanted: Wanted) => Drafted {
  let last: { shape: string; laidIn: number; layout: Layout } | undefined;
  return ({ turn, whole, folding, opened }) => {
    const picture = foldRows(folding ? fold(whole, folding) : whole, opened);
    const graph = graphOf(picture, opened);
    const shape = JSON.stringify(graph);
    if (last?.shape !== shape) last = { shape, laidIn: turn, layout: layOut(graph) };
    return { turn, picture, layout: last.layout, laidIn: last.laidIn };
  };
}
