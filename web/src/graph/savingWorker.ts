// Drawing and painting what is saved, in a thread of its own: a picture of thousands of boxes takes a second.
import { pngOf } from './painting';
import { drawingOf, type ToSave } from './saved';
import { svgOf } from './svg';

export type Form = 'svg' | 'png';

/** fault: what to tell the user. */
export type Saved = { file: Blob } | { fault: string };

async function fileOf(form: Form, wanted: ToSave): Promise<Blob> {
  const drawing = drawingOf(wanted);
  return form === 'svg' ? new Blob([svgOf(drawing)], { type: 'image/svg+xml' }) : pngOf(drawing);
}

addEventListener('message', ({ data: { form, wanted } }: MessageEvent<{ form: Form; wanted: ToSave }>) => {
  const told = (saved: Saved) => postMessage(saved);
  fileOf(form, wanted).then((file) => told({ file }), (fault: unknown) => told({ fault: fault instanceof Error ? fault.message : String(fault) }));
});
