// Renders saved pictures in a worker, because thousands of boxes take a second.
import { pngOf } from './painting';
import { drawingOf, type ToSave } from './saved';
import { svgOf } from './svg';

export type Form = 'svg' | 'png';

/** The saved file, or in `fault` an error message for the user. */
export type Saved = { file: Blob } | { fault: string };

async function fileOf(form: Form, wanted: ToSave): Promise<Blob> {
  const drawing = drawingOf(wanted);
  return form === 'svg' ? new Blob([svgOf(drawing)], { type: 'image/svg+xml' }) : pngOf(drawing);
}

addEventListener('message', ({ data: { form, wanted } }: MessageEvent<{ form: Form; wanted: ToSave }>) => {
  const reply = (saved: Saved) => postMessage(saved);
  fileOf(form, wanted).then((file) => reply({ file }), (fault: unknown) => reply({ fault: fault instanceof Error ? fault.message : String(fault) }));
});
