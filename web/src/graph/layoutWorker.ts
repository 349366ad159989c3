// Folding and layout in a thread of their own: the page stays quick meanwhile.
import { drafting, type Wanted } from './drafting';

const draft = drafting();

addEventListener('message', ({ data }: MessageEvent<Wanted>) => {
  postMessage(draft(data));
});
