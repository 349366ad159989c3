// Tables as CSV (RFC 4180).
const ODD = /[",\r\n]/;
const FORMULA = /^[=+\-@\t\r]/;

/** Write rows; what a spreadsheet would take for a formula is led by an apostrophe. */
export function csv(rows: readonly (readonly unknown[])[]): string {
  return rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

function cell(value: unknown): string {
  let text: string;
  if (value === null || value === undefined) text = '';
  else if (typeof value === 'string') text = FORMULA.test(value) ? `'${value}` : value;
  else text = JSON.stringify(value);
  return ODD.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hand a file to the user. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}
