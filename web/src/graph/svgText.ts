// Text in an SVG: escaped, shortened to fit a box, with invisible characters made visible.
import { visible } from '../shown/invisible';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };
const LETTERS = new Intl.Segmenter();

export function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (each) => ENTITIES[each] ?? '');
}

/** Shorten a text to at most `most` graphemes. */
export function cut(text: string, most: number): string {
  const letters = [...LETTERS.segment(text.slice(0, 20 * most))];
  return letters.length > most ? `${text.slice(0, letters[most - 1]?.index)}…` : text;
}
