// Which part of a picture is looked at first: all of it if its text can be read then, else what was asked in the middle.
import type { Layout } from './layout';
import type { Picture } from './picture';
import type { Box } from './shape';

/** The smallest text of a box (px), and how small it may become. */
const [SMALLEST, LEGIBLE] = [12, 11];
const MARGIN = 30;

export interface Sight {
  x: number;
  y: number;
  zoom: number;
}

export function sight(picture: Picture, places: Layout['places'], width: number, height: number): Sight {
  const all = [...places.values()];
  const across = span(all.map((box) => [box.x, box.x + box.width]));
  const down = span(all.map((box) => [box.y, box.y + box.height]));
  const fitting = Math.min((width - 2 * MARGIN) / (across.to - across.from), (height - 2 * MARGIN) / (down.to - down.from));
  const zoom = Math.min(1, Math.max(LEGIBLE / SMALLEST, fitting));
  const asked = places.get(mainBox(picture)) ?? all[0] ?? { x: 0, y: 0, width: 0, height: 0 };
  return {
    x: shift(across, asked.x + asked.width / 2, width, zoom),
    y: shift(down, middle(asked, height / zoom), height, zoom),
    zoom,
  };
}

/** What of the graph a pane of a size shows then. */
export function inSight({ x, y, zoom }: Sight, width: number, height: number): Box {
  return { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
}

/** The asked table; on the map what has most edges. */
function mainBox(picture: Picture): string {
  const subject = picture.tables.find((table) => table.subject);
  if (subject) return subject.id;
  const weights = new Map<string, number>();
  for (const edge of picture.edges) for (const id of [edge.from, edge.to]) weights.set(id, (weights.get(id) ?? 0) + edge.many);
  return [...weights].reduce((most, each) => (each[1] > most[1] ? each : most), ['', 0])[0];
}

/** A box higher than the pane is shown from its head on. */
const middle = (box: Box, room: number): number => box.y + Math.min(box.height / 2, room / 2 - MARGIN);

function span(ranges: [number, number][]): { from: number; to: number } {
  return { from: Math.min(...ranges.map(([from]) => from)), to: Math.max(...ranges.map(([, to]) => to)) };
}

/** Centre what fits; of what does not, show the asked place without leaving room beyond the ends. */
function shift({ from, to }: { from: number; to: number }, at: number, room: number, zoom: number): number {
  if ((to - from) * zoom <= room - 2 * MARGIN) return room / 2 - ((from + to) / 2) * zoom;
  return Math.min(MARGIN - from * zoom, Math.max(room - MARGIN - to * zoom, room / 2 - at * zoom));
}
