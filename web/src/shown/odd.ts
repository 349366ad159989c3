// Characters that are not seen, or turn the text around them: a name that holds some looks like another one.

/** Controls, directions, what takes no room; not what emoji and scripts are joined with. */
const ODD =
  /(?![\ufe0e\ufe0f]|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]|(?!\p{Script=Latin})[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}\p{Extended_Pictographic}])|(?<=\u{1f3f4}[\u{e0020}-\u{e007e}]*)[\u{e0020}-\u{e007f}])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;
const PLAIN = /^[\x20-\x7e]*$/;
const LINES = /[\n\r\t]/;

/** How such a character is written: its picture, or its code. */
function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '␡' : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

export interface Part {
  text: string;
  /** Of a character that is not seen: how it is written. */
  mark?: string;
}

/** Take a text apart at such characters; undefined where there are none. lines: it may have lines and tabs, as code has. */
export function partsOf(text: string, lines = false): Part[] | undefined {
  if (PLAIN.test(text)) return undefined;
  const parts: Part[] = [];
  let done = 0;
  for (const { 0: character, index } of text.matchAll(ODD)) {
    if (lines && LINES.test(character)) continue;
    if (index > done) parts.push({ text: text.slice(done, index) });
    parts.push({ text: character, mark: mark(character) });
    done = index + character.length;
  }
  if (!parts.length) return undefined;
  return done < text.length ? [...parts, { text: text.slice(done) }] : parts;
}

/** Write a text so that such characters are seen, where it can have no elements: titles, labels, files. */
export function visible(text: string, lines = false): string {
  return partsOf(text, lines)?.map((part) => (part.mark === undefined ? part.text : part.mark.startsWith('U+') ? `⟨${part.mark}⟩` : part.mark)).join('') ?? text;
}
