import { useEffect, useMemo, useState } from 'react';

import { layOut, warm, type Places } from './layout';
import type { Picture } from './picture';
import { heightOf } from './shape';

export interface Laid {
  picture: Picture;
  places: Places;
}

/** Lay a picture out anew when its boxes or edges change; until then the last one that was laid out stays. */
export function useLayout(picture: Picture | undefined, opened: ReadonlySet<string>): Laid | undefined {
  const shape = useMemo(
    () =>
      picture &&
      JSON.stringify([
        picture.tables.map((table) => [table.id, heightOf(table, opened.has(table.id))]),
        picture.edges.map((edge) => edge.id),
      ]),
    [picture, opened],
  );
  useEffect(() => void warm(), []);
  const [placed, setPlaced] = useState<{ shape: string; places: Places; picture: Picture }>();
  useEffect(() => {
    if (!picture || shape === undefined) return undefined;
    let wanted = true;
    const lay = () => void layOut(picture, opened).then((places) => wanted && setPlaced({ shape, places, picture }));
    const task = setTimeout(lay); // not in the task that has made the picture
    return () => {
      wanted = false;
      clearTimeout(task);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what has the same shape has the same layout
  }, [shape]);
  return useMemo(
    () => placed && { places: placed.places, picture: placed.shape === shape && picture ? picture : placed.picture },
    [placed, shape, picture],
  );
}
