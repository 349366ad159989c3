// Text inside an SVG: escaped, cut to what a box holds, with characters that are not seen shown.
import { visible } from '../shown/odd';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };
const LETTERS = new Intl.Segmenter();

export function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (each) => ENTITIES[each] ?? '');
}

/** Cut a text to so many letters, as people count them. */
export function cut(text: string, most: number): string {
  const letters = [...LETTERS.segment(text.slice(0, 20 * most))];
  return letters.length > most ? `${text.slice(0, letters[most - 1]?.index)}…` : text;
}
