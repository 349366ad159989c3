// Tables as CSV (RFC 4180), and files for the user.
import { visible } from '../shown/odd';

const ODD = /[",\r\n]/;
const FORMULA = /^[=+\-@\t\r]/;

/** Write rows; what a spreadsheet would take for a formula is led by an apostrophe. */
export function csv(rows: readonly (readonly unknown[])[]): string {
  return rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

function cell(value: unknown): string {
  let text: string;
  if (value === null || value === undefined) text = '';
  else if (typeof value === 'string') text = visible(FORMULA.test(value) ? `'${value}` : value, true);
  else text = JSON.stringify(value);
  return ODD.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const LONGEST = 100;

/** Name a file after what it shows and when: letters, digits, `.`, `-` and `_` of any script, nothing that leads elsewhere. */
export function fileName(parts: readonly string[], moment: Date, ending: string): string {
  const named = parts.map((part) => part.replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '-').replace(/^[-.]+|[-.]+$/g, '')).filter(Boolean);
  const cut = named.join('-').slice(0, LONGEST).replace(/[\ud800-\udbff]$/, '');
  return `${cut || 'headwater'}-${moment.toISOString().slice(0, 19).replaceAll(':', '')}Z.${ending}`;
}

/** Hand a file to the user. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}
