// CSV export (RFC 4180), file names and downloads.
import { visible } from '../shown/invisible';

const NEEDS_QUOTES = /[",\r\n]/;
const FORMULA = /^[=+\-@\t\r]/;

/** Format rows as CSV. Values that look like formulas get an apostrophe, so that spreadsheets do not evaluate them. */
export function csv(rows: readonly (readonly unknown[])[]): string {
  return rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

function cell(value: unknown): string {
  let text: string;
  if (value === null || value === undefined) text = '';
  else if (typeof value === 'string') text = visible(FORMULA.test(value) ? `'${value}` : value, true);
  else text = JSON.stringify(value);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const LONGEST = 100;

/** Build a file name from its parts and a time. It keeps letters and digits of any script, `.`, `-` and `_`, so it cannot leave the folder. */
export function fileName(parts: readonly string[], moment: Date, ending: string): string {
  const named = parts.map((part) => part.replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '-').replace(/^[-.]+|[-.]+$/g, '')).filter(Boolean);
  const cut = named.join('-').slice(0, LONGEST).replace(/[\ud800-\udbff]$/, '');
  return `${cut || 'headwater'}-${moment.toISOString().slice(0, 19).replaceAll(':', '')}Z.${ending}`;
}

/** Offer a file as a download. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}
