// The sizes of boxes, and the rows at which edges end.
import type { Graph } from './layout';
import type { Picture, PictureEdge, PictureTable } from './picture';

export const WIDTH = 230;
export const HEAD = 46;
export const ROW = 24;
const FOOT = 24;
/** The y position at which edges of control flow end: below the head, so that they are separate from data flow. */
const CONTROL_Y = HEAD + FOOT / 2;
export const CLOSED_ROWS = 8;
/** Rows of a closed table that shows columns related to the selected column. */
const RELATED_ROWS = 12;
/** Rows of an opened table. The panel next to the graph lists the other columns, with a filter. */
export const OPEN_ROWS = 100;

/** Return the visible columns of a table. Until the table is opened, these are only the first columns. */
export function shownColumns(table: PictureTable, open: boolean): PictureTable['columns'] {
  return table.columns.slice(0, open ? OPEN_ROWS : closedRows(table));
}

function closedRows(table: PictureTable): number {
  return table.columns.some((column) => column.subject || column.distance !== 0) ? RELATED_ROWS : CLOSED_ROWS;
}

export function hiddenColumns(table: PictureTable, open: boolean): number {
  return table.columns.length - shownColumns(table, open).length + table.more;
}

/** Return whether the box has a last row with which users open or close it. */
export function hasFoot(table: PictureTable, open: boolean): boolean {
  return table.kind !== 'table' || hiddenColumns(table, open) > 0 || (open && table.columns.length > closedRows(table));
}

export function heightOf(table: PictureTable, open: boolean): number {
  return HEAD + shownColumns(table, open).length * ROW + (hasFoot(table, open) ? FOOT : 0) + (table.kind === 'table' ? 4 : 10);
}

/** The y position at which an edge ends: the row of its column, the last row if the column is hidden, or the head. */
export function portY(table: PictureTable, open: boolean, column: string | undefined): number {
  if (column === undefined) return HEAD / 2;
  const shown = shownColumns(table, open);
  const at = shown.findIndex((each) => each.name === column);
  return at < 0 && !hasFoot(table, open) ? HEAD / 2 : HEAD + (at < 0 ? shown.length : at) * ROW + ROW / 2;
}

/** The input of the layout: boxes with their heights, and edges with the positions of their ends. */
export function graphOf(picture: Picture, opened: ReadonlySet<string>): Graph {
  const tables = new Map(picture.tables.map((table) => [table.id, table]));
  const ports = new Map<string, Map<string, number>>();
  const port = (id: string, column: string | undefined) => {
    const known = ports.get(id) ?? new Map<string, number>();
    ports.set(id, known);
    const table = tables.get(id);
    const y = known.get(column ?? '') ?? (table ? portY(table, opened.has(id), column) : 0);
    known.set(column ?? '', y);
    return y;
  };
  const end = (edge: PictureEdge, id: string, column: string | undefined) => (edge.control ? CONTROL_Y : port(id, column));
  return {
    width: WIDTH,
    nodes: picture.tables.map((table) => ({ id: table.id, height: heightOf(table, opened.has(table.id)) })),
    edges: picture.edges.map((edge: PictureEdge) => ({
      id: edge.id, from: edge.from, to: edge.to, weak: edge.weak ?? false,
      fromY: end(edge, edge.from, edge.fromColumn), toY: end(edge, edge.to, edge.toColumn),
      own: edge.fromColumn !== undefined || edge.toColumn !== undefined || edge.control === true,
    })), // prettier-ignore
  };
}
