// Builds the drawing of a saved picture: boxes and edges as laid out, with a title above and a legend below.
import { LEGEND_OF_HEALTH, SIGNS } from '../parts/signs';
import type { Badge } from './badges';
import { columnKey, exposureWord, type Exposure } from './exposureKeys';
import { frame, lineOf as strokeOf, type Caption, type Colours } from './frame';
import { boundingBox, type Box, type Point } from './geometry';
import type { Layout } from './layout';
import { lineOf } from './line';
import type { Drawing, Mark } from './marks';
import { edgeWords, MASKED_ON_THE_WAY, type Picture, type PictureEdge, type PictureTable } from './picture';
import { HEAD, hiddenColumns, ROW, shownColumns } from './shape';
import { cut } from './svgText';
import { headingOf, subtitleOf } from './words';

const MARGIN = 20;
const CHARACTERS = 34;
const LONGEST = 240;

export interface ToSave {
  picture: Picture;
  layout: Layout;
  /** Tables that show all their columns. */
  opened: ReadonlySet<string>;
  caption: Caption;
  /** The colours of the page. */
  colours: Colours;
  /** Health badges by box id. */
  badges: ReadonlyMap<string, Badge>;
  /** The states of columns with personal data, if the page shows them, by `columnKey`. */
  exposures?: ReadonlyMap<string, Exposure>;
}

export function drawingOf({ picture, layout: { places, routes }, opened, caption, colours, badges, exposures = new Map() }: ToSave): Drawing {
  const boxes = boundingBox([...places.values()]);
  const notes = [...(caption.notes ?? []), ...(badges.size ? [LEGEND_OF_HEALTH] : []), ...(exposures.size ? [LEGEND_OF_EXPOSURE] : [])];
  const framed = frame(picture, { ...caption, notes }, colours, { width: boxes.x + boxes.width, height: boxes.y + boxes.height });
  const [width, height] = [Math.ceil(framed.width) + 2 * MARGIN, Math.ceil(framed.height) + 2 * MARGIN];
  const tables = new Map(picture.tables.map((table) => [table.id, table]));
  const edges = picture.edges.filter((edge) => !edge.weak).map((edge) => edgeMarks(edge, tables, routes.get(edge.id), colours));
  const nodes = picture.tables.flatMap((table) => {
    const [box, badge] = [places.get(table.id), badges.get(table.id)];
    return box ? [tableMark(table, box, opened.has(table.id), colours, exposures), ...(badge ? [badgeMark(badge, box, colours)] : [])] : [];
  });
  const paper: Mark = { kind: 'rectangle', x: -MARGIN, y: -MARGIN, width, height, fill: colours.bg };
  const inside: Mark = { kind: 'group', down: framed.top, marks: [...edges.flatMap(({ path }) => path), ...nodes, ...edges.flatMap(({ label }) => label)] };
  return { title: `${cut(caption.title, LONGEST)}. ${cut(caption.subtitle, LONGEST)}`, x: -MARGIN, y: -MARGIN, width, height, marks: [paper, ...framed.marks, inside] };
}

function edgeMarks(edge: PictureEdge, tables: ReadonlyMap<string, PictureTable>, route: readonly Point[] | undefined, colours: Colours): Record<'path' | 'label', Mark[]> {
  const [from, to] = [tables.get(edge.from), tables.get(edge.to)];
  if (!from || !to || !route) return { path: [], label: [] };
  const line = lineOf(route, edge.toColumn !== undefined);
  const stroke = strokeOf(edge, colours);
  const title = `${from.name} ${edge.fromColumn ?? ''} → ${to.name} ${edge.toColumn ?? ''}${edge.masked ? ' (masks)' : ''}`;
  return { path: [{ kind: 'path', d: line.path, title, ...stroke }], label: edgeLabel(edgeWords(edge), line.label, stroke.stroke, colours) };
}

function edgeLabel(text: string, { x, y }: Point, stroke: string, colours: Colours): Mark[] {
  if (!text) return [];
  const width = 12 + 6 * text.length;
  return [
    { kind: 'rectangle', x: x - width / 2, y: y - 8, width, height: 16, radius: 8, fill: colours.panel, stroke },
    { kind: 'words', x, y: y + 4, text, size: 10, anchor: 'middle', fill: stroke },
  ];
}

/** A badge on the upper right edge of its box, as on the screen. */
function badgeMark({ status, label, detail }: Badge, box: Box, colours: Colours): Mark {
  const words = [SIGNS[status], label].filter(Boolean).join(' ');
  const stroke = { failed: colours.bad, late: colours.warn, stale: colours.warn, ok: colours.good, unknown: colours.dim }[status];
  const [width, right] = [10 + 7 * words.length, box.x + box.width - 6];
  return {
    kind: 'group',
    title: `${label || status}: ${cut(detail, LONGEST)}`,
    marks: [
      { kind: 'rectangle', x: right - width, y: box.y - 9, width, height: 18, radius: 9, fill: colours.panel, stroke },
      { kind: 'words', x: right - width / 2, y: box.y + 4, text: words, anchor: 'middle', fill: stroke },
    ],
  };
}

const LEGEND_OF_EXPOSURE = '● personal data: readable in clear, masked on every path, or not proven to be masked';
const EXPOSURE_COLOURS = { exposed: 'bad', masked: 'good', once_exposed: 'warn', unknown: 'warn' } as const;

function tableMark(table: PictureTable, { x, y, width, height }: Box, open: boolean, colours: Colours, exposures: ReadonlyMap<string, Exposure>): Mark {
  const changed = { added: colours.good, removed: colours.bad };
  const stroke = table.change ? changed[table.change] : table.subject ? colours.accent : colours.line;
  const rows = shownColumns(table, open).flatMap((column, at): Mark[] => {
    const [mark, below] = [column.subject ? '● ' : '', y + HEAD + at * ROW + 15];
    const fill = column.change ? changed[column.change] : colours.text;
    const name: Mark = { kind: 'words', x: x + 10, y: below, text: mark + cut(column.name, column.maskedOnTheWay ? CHARACTERS / 2 : CHARACTERS), fill };
    const exposure = exposures.get(columnKey(table.id, column.name));
    if (exposure) return [name, { kind: 'words', x: x + width - 8, y: below, text: `● ${exposureWord(exposure.kind)}`, size: 10, anchor: 'end', fill: colours[EXPOSURE_COLOURS[exposure.kind]] }];
    const aside: Mark = { kind: 'words', x: x + width - 8, y: below, text: MASKED_ON_THE_WAY, size: 9, anchor: 'end', fill: colours.good };
    return column.maskedOnTheWay ? [name, aside] : [name];
  });
  const hidden = hiddenColumns(table, open);
  const more: Mark[] = hidden > 0 ? [{ kind: 'words', x: x + 10, y: y + height - 9, text: `${hidden} more columns`, fill: colours.dim }] : [];
  return {
    kind: 'group',
    title: `${table.namespace}/${table.name}`,
    marks: [
      { kind: 'rectangle', x, y, width, height, radius: 6, fill: colours.panel, stroke, strokeWidth: table.subject ? 2 : 1 },
      { kind: 'rectangle', x, y, width, height: HEAD, radius: 6, fill: colours.head },
      { kind: 'words', x: x + 10, y: y + 20, text: cut(headingOf(table), CHARACTERS), bold: true, fill: colours.text },
      { kind: 'words', x: x + 10, y: y + 37, text: cut(subtitleOf(table), CHARACTERS + 6), size: 10, fill: colours.dim },
      ...rows,
      ...more,
    ],
  };
}
