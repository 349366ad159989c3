// The layer of a dataset in a lake, by the words in its name.

export const LAYERS = ['landing', 'bronze', 'silver', 'gold', 'platinum'] as const;
export type Layer = (typeof LAYERS)[number];

const WORDS: Readonly<Record<string, Layer>> = {
  landing: 'landing', raw: 'landing', bronze: 'bronze', staging: 'bronze', stg: 'bronze', silver: 'silver', intermediate: 'silver', int: 'silver',
  gold: 'gold', mart: 'gold', marts: 'gold', platinum: 'platinum',
}; // prettier-ignore

/**
 * Return the layer that a name states. The folders and schemas decide, the nearest one first; then the first word of the table.
 * A word may have the ending `lh` or `lakehouse`, as in `goldlh`.
 */
export function layerOf(name: string): Layer | undefined {
  const parts = name.toLowerCase().split(/[/.]/).filter(Boolean);
  const folders = parts.slice(0, -1).reverse().flatMap((part) => part.split(/[_-]/));
  const words = [...folders, (parts.at(-1) ?? '').split(/[_-]/)[0] ?? ''];
  return words.map((word) => WORDS[word.replace(/(lh|lakehouse)$/, '')]).find((layer) => layer !== undefined);
}
