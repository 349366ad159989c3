// The layout in a thread of its own: the page stays quick meanwhile.
import { layOut, type Graph } from './layout';

addEventListener('message', ({ data }: MessageEvent<{ turn: number; graph: Graph }>) => {
  postMessage({ turn: data.turn, layout: layOut(data.graph) });
});
