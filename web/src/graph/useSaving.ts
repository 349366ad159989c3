// Saving what is laid out as SVG or PNG, with how each box fares.
import { useState } from 'react';

import { download, fileName } from '../parts/csv';
import { badgesOf, type Badge } from './badges';
import { coloursOf, type Caption } from './frame';
import { pngOf, svgOf } from './svg';
import type { Laid } from './useLayout';

type Form = 'svg' | 'png';

/** captionOf: what stands around a picture that is saved now; parts: of the file's name. */
export function useSaving(laid: Laid | undefined, opened: ReadonlySet<string>, captionOf: (saved: Date) => Caption, parts: readonly string[], ofMany: ReadonlyMap<string, Badge>) {
  const [unsaved, setUnsaved] = useState<Error>();
  const save = async (form: Form) => {
    if (!laid) return;
    const now = new Date();
    const svg = svgOf(laid.picture, laid, opened, captionOf(now), coloursOf(document.documentElement), await badgesOf(laid.picture, ofMany));
    download(fileName(parts, now, form), form === 'svg' ? new Blob([svg], { type: 'image/svg+xml' }) : await pngOf(svg));
  };
  return { unsaved, save: (form: Form) => void save(form).then(() => setUnsaved(undefined), setUnsaved) };
}
