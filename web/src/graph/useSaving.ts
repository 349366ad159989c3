// Saving what is laid out as SVG or PNG, with how each box fares.
import { useState } from 'react';

import { download, fileName } from '../parts/csv';
import { badgesOf, type Badge } from './badges';
import { coloursOf, type Caption } from './frame';
import type { ToSave } from './saved';
import type { Form, Saved } from './savingWorker';
import type { Laid } from './useLayout';

/** captionOf: what stands around a picture that is saved now; parts: of the file's name. */
export function useSaving(laid: Laid | undefined, opened: ReadonlySet<string>, captionOf: (saved: Date) => Caption, parts: readonly string[], ofMany: ReadonlyMap<string, Badge>) {
  const [unsaved, setUnsaved] = useState<Error>();
  const save = async (form: Form) => {
    if (!laid) return;
    const { picture, ...layout } = laid;
    const [now, badges] = [new Date(), await badgesOf(picture, ofMany)];
    download(fileName(parts, now, form), await fileOf(form, { picture, layout, opened, caption: captionOf(now), colours: coloursOf(document.documentElement), badges }));
  };
  return { unsaved, save: (form: Form) => void save(form).then(() => setUnsaved(undefined), setUnsaved) };
}

const NOT_LOADED = 'What draws the file did not come. Is Headwater there? Save it again.';

/** Have the file made by a worker, which ends with it. */
async function fileOf(form: Form, wanted: ToSave): Promise<Blob> {
  const worker = new Worker(new URL('./savingWorker.ts', import.meta.url), { type: 'module' });
  try {
    return await new Promise((resolve, reject) => {
      worker.addEventListener('message', ({ data }: MessageEvent<Saved>) => ('file' in data ? resolve(data.file) : reject(new Error(data.fault))));
      worker.addEventListener('error', () => reject(new Error(NOT_LOADED)));
      worker.postMessage({ form, wanted });
    });
  } finally {
    worker.terminate();
  }
}
