// The initial viewport of a graph: the whole graph if its text stays readable, otherwise the subject in the middle with larger text.
import type { Box } from './geometry';
import type { Layout } from './layout';
import type { Picture } from './picture';

/** The smallest text in a box, and its smallest size on the screen if a part of the graph is shown (px). */
const [SMALLEST, LEGIBLE] = [12, 11];
/** The smallest zoom at which the whole graph is shown: names of columns (13 px) are then 8.5 px high. */
const WHOLE = 0.65;
/** The zoom of a graph that is smaller than the pane. */
const LARGEST = 1.2;
const MARGIN = 30;

export interface Viewport {
  x: number;
  y: number;
  zoom: number;
}

export function initialViewport(picture: Picture, places: Layout['places'], width: number, height: number): Viewport {
  const all = [...places.values()];
  const across = span(all.map((box) => [box.x, box.x + box.width]));
  const down = span(all.map((box) => [box.y, box.y + box.height]));
  const fitting = Math.min((width - 2 * MARGIN) / (across.to - across.from), (height - 2 * MARGIN) / (down.to - down.from));
  const zoom = fitting >= WHOLE ? Math.min(LARGEST, fitting) : LEGIBLE / SMALLEST;
  const subjectBox = places.get(mainBox(picture)) ?? all[0] ?? { x: 0, y: 0, width: 0, height: 0 };
  return {
    x: shift(across, subjectBox.x + subjectBox.width / 2, width, zoom),
    y: shift(down, middle(subjectBox, height / zoom), height, zoom),
    zoom,
  };
}

/** The part of the graph that a viewport shows in a pane of this size. */
export function visibleArea({ x, y, zoom }: Viewport, width: number, height: number): Box {
  return { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
}

/** Return the id of the subject or, on the map, the id of the box with the most edges. */
function mainBox(picture: Picture): string {
  const subject = picture.tables.find((table) => table.subject);
  if (subject) return subject.id;
  const weights = new Map<string, number>();
  for (const edge of picture.edges) for (const id of [edge.from, edge.to]) weights.set(id, (weights.get(id) ?? 0) + edge.many);
  return [...weights].reduce((most, each) => (each[1] > most[1] ? each : most), ['', 0])[0];
}

/** Return the y position to centre for a box. If the box is taller than the pane, its head stays visible. */
const middle = (box: Box, room: number): number => box.y + Math.min(box.height / 2, room / 2 - MARGIN);

function span(ranges: [number, number][]): { from: number; to: number } {
  return { from: Math.min(...ranges.map(([from]) => from)), to: Math.max(...ranges.map(([, to]) => to)) };
}

/** Return the shift that centres the graph if it fits. Otherwise centre the position `at`, without empty space beyond the ends of the graph. */
function shift({ from, to }: { from: number; to: number }, at: number, room: number, zoom: number): number {
  if ((to - from) * zoom <= room - 2 * MARGIN) return room / 2 - ((from + to) / 2) * zoom;
  return Math.min(MARGIN - from * zoom, Math.max(room - MARGIN - to * zoom, room / 2 - at * zoom));
}
