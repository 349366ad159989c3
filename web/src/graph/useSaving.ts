// Saves a graph as SVG or PNG, with health badges.
import { useState } from 'react';

import { download, fileName } from '../parts/csv';
import { badgesOf, type Badge } from './badges';
import type { Exposure } from './exposureKeys';
import { coloursOf, type Caption } from './frame';
import type { ToSave } from './saved';
import type { Form, Saved } from './savingWorker';
import type { GraphLayout } from './useLayout';

/** captionOf: returns the caption of a picture that is saved at this time. parts: the parts of the file name. */
export function useSaving(layout: GraphLayout | undefined, opened: ReadonlySet<string>, captionOf: (saved: Date) => Caption, parts: readonly string[], groupBadges: ReadonlyMap<string, Badge>, exposures?: ReadonlyMap<string, Exposure>) {
  const [unsaved, setUnsaved] = useState<Error>();
  const save = async (form: Form) => {
    if (!layout) return;
    const { picture, places, routes } = layout;
    const [now, badges] = [new Date(), await badgesOf(picture, groupBadges)];
    download(fileName(parts, now, form), await fileOf(form, { picture, layout: { places, routes }, opened, caption: captionOf(now), colours: coloursOf(document.documentElement), badges, ...(exposures && { exposures }) }));
  };
  return { unsaved, save: (form: Form) => void save(form).then(() => setUnsaved(undefined), setUnsaved) };
}

const NOT_LOADED = 'The code that saves pictures could not be loaded. Check that Headwater is running, and save again.';

/** Render the file in a worker. The worker stops afterwards. */
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
