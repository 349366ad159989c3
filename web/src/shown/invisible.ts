// Finds characters that are invisible or change the text direction. A name with such a character can imitate another name.

/** Control, direction and zero-width characters, except joiners inside emoji and scripts that need them. */
const INVISIBLE =
  /(?![\ufe0e\ufe0f]|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]|(?!\p{Script=Latin})[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}\p{Extended_Pictographic}])|(?<=\u{1f3f4}[\u{e0020}-\u{e007e}]*)[\u{e0020}-\u{e007f}])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;
const PLAIN = /^[\x20-\x7e]*$/;
const LINES = /[\n\r\t]/;

/** The visible mark of a character: a control picture, or its code point. */
function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '␡' : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

export interface Part {
  text: string;
  /** The visible mark, if the part is an invisible character. */
  mark?: string;
}

/** Split a text at invisible characters; undefined if it has none. lines: line breaks and tabs are allowed, as in code. */
export function partsOf(text: string, lines = false): Part[] | undefined {
  if (PLAIN.test(text)) return undefined;
  const parts: Part[] = [];
  let done = 0;
  for (const { 0: character, index } of text.matchAll(INVISIBLE)) {
    if (lines && LINES.test(character)) continue;
    if (index > done) parts.push({ text: text.slice(done, index) });
    parts.push({ text: character, mark: mark(character) });
    done = index + character.length;
  }
  if (!parts.length) return undefined;
  return done < text.length ? [...parts, { text: text.slice(done) }] : parts;
}

/** Replace invisible characters by their marks, for text without markup: titles, labels and files. */
export function visible(text: string, lines = false): string {
  return partsOf(text, lines)?.map((part) => (part.mark === undefined ? part.text : part.mark.startsWith('U+') ? `⟨${part.mark}⟩` : part.mark)).join('') ?? text;
}
