// How large what is drawn is: boxes of these sizes are placed, and edges end at the rows of columns.
import type { Graph } from './layout';
import type { Picture, PictureEdge, PictureTable } from './picture';

export const WIDTH = 250;
export const HEAD = 46;
export const ROW = 24;
const FOOT = 24;
/** Control flow meets boxes at the row below their heads, apart from data. */
const CONTROL_Y = HEAD + FOOT / 2;
export const CLOSED_ROWS = 8;
/** Of columns related to the asked one; as many more as this are folded until the table is opened. */
const RELATED_ROWS = 12;
/** An opened table has no more rows; the others are listed beside the graph, with a filter. */
export const OPEN_ROWS = 100;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The smallest box around some; where there is none, at the origin. */
export function around(boxes: readonly Box[]): Box {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width, height } of boxes) {
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + width), Math.max(bottom, y + height)];
  }
  return boxes.length ? { x: left, y: top, width: right - left, height: bottom - top } : { x: 0, y: 0, width: 0, height: 0 };
}

/** Whether the smallest box around two others meets this one. */
export const isAround = (seen: Box, a: Box, b: Box): boolean =>
  Math.min(a.x, b.x) <= seen.x + seen.width && Math.max(a.x + a.width, b.x + b.width) >= seen.x &&
  Math.min(a.y, b.y) <= seen.y + seen.height && Math.max(a.y + a.height, b.y + b.height) >= seen.y; // prettier-ignore

/** The columns that are drawn: the first few until the table is opened. */
export function shownColumns(table: PictureTable, open: boolean): PictureTable['columns'] {
  return table.columns.slice(0, open ? OPEN_ROWS : closedRows(table));
}

function closedRows(table: PictureTable): number {
  return table.columns.some((column) => column.subject || column.distance !== 0) ? RELATED_ROWS : CLOSED_ROWS;
}

export function hiddenColumns(table: PictureTable, open: boolean): number {
  return table.columns.length - shownColumns(table, open).length + table.more;
}

/** Has it a last row that opens it, or closes it again? */
export function hasFoot(table: PictureTable, open: boolean): boolean {
  return table.kind !== 'table' || hiddenColumns(table, open) > 0 || (open && table.columns.length > closedRows(table));
}

export function heightOf(table: PictureTable, open: boolean): number {
  return HEAD + shownColumns(table, open).length * ROW + (hasFoot(table, open) ? FOOT : 0) + (table.kind === 'table' ? 4 : 10);
}

/** Where an edge meets a box: at the row of a column, at the last row if that is folded, or at the head. */
export function portY(table: PictureTable, open: boolean, column: string | undefined): number {
  if (column === undefined) return HEAD / 2;
  const shown = shownColumns(table, open);
  const at = shown.findIndex((each) => each.name === column);
  return at < 0 && !hasFoot(table, open) ? HEAD / 2 : HEAD + (at < 0 ? shown.length : at) * ROW + ROW / 2;
}

/** What is laid out of a picture: boxes with their sizes, edges with their ends. */
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
