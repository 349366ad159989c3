// Runs folding and layout in a worker, so that the page stays responsive.
import { createLayoutPipeline, type LayoutRequest } from './layoutPipeline';

const draft = createLayoutPipeline();

addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  postMessage(draft(data));
});
