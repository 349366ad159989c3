// How large what is drawn is; ELK places boxes of these sizes, and edges end at the rows of columns.
import type { PictureTable } from './picture';

export const WIDTH = 250;
export const HEAD = 46;
export const ROW = 24;
const FOOT = 24;
export const CLOSED_ROWS = 8;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The columns that are drawn: related ones all, of others the first few until the table is opened. */
export function shownColumns(table: PictureTable, open: boolean): PictureTable['columns'] {
  const related = table.columns.some((column) => column.subject || column.distance !== 0);
  return open || related ? table.columns : table.columns.slice(0, CLOSED_ROWS);
}

export function hiddenColumns(table: PictureTable, open: boolean): number {
  return table.columns.length - shownColumns(table, open).length + table.more;
}

export function heightOf(table: PictureTable, open: boolean): number {
  if (table.kind === 'group') return HEAD + FOOT + 10;
  const foot = hiddenColumns(table, open) > 0 || (open && table.columns.length > CLOSED_ROWS) ? FOOT : 0;
  return HEAD + shownColumns(table, open).length * ROW + foot + 4;
}

/** Where an edge meets a table: at the row of a column, or at the head. */
export function portY(table: PictureTable, open: boolean, column: string | undefined): number {
  const at = column === undefined ? -1 : shownColumns(table, open).findIndex((each) => each.name === column);
  return at < 0 ? HEAD / 2 : HEAD + at * ROW + ROW / 2;
}
