// The SVG path of an edge: straight in lanes, curved between layers. Backward edges and loops end in an arrow.
import type { Point } from './geometry';

export interface Line {
  path: string;
  /** The position of the label. */
  label: Point;
}

const TURN = 40;

/** byTarget: whether to put the label at the end of the edge, because the edge ends at the row of a column. */
export function lineOf(route: readonly Point[], byTarget = false): Line {
  const [start, second, end] = [route[0], route[1], route.at(-1)];
  if (!start || !second || !end) return { path: '', label: { x: 0, y: 0 } };
  const turns = second.x <= start.x;
  let path = `M${start.x},${start.y}`;
  for (let at = 1; at < route.length; at += 1) {
    const [a, b] = [route[at - 1], route[at]];
    if (!a || !b) break;
    if (at % 2 === 0) path += ` L${b.x},${b.y}`;
    else {
      const half = (b.x - a.x) / 2;
      const [out, into] = turns && at === 1 ? [TURN, TURN] : turns && at === route.length - 1 ? [-TURN, -TURN] : [half, -half];
      path += ` C${a.x + out},${a.y} ${b.x + into},${b.y} ${b.x},${b.y}`;
    }
  }
  const tip = route.length === 2 ? 1 : -1; // a loop ends on the side where it starts
  if (turns) path += ` M${end.x + tip * 7},${end.y - 4} L${end.x},${end.y} L${end.x + tip * 7},${end.y + 4}`;
  if (byTarget && !turns) return { path, label: { x: end.x - TURN, y: end.y } };
  return { path, label: { x: (start.x + second.x) / 2 + (turns ? TURN * 0.75 : 0), y: (start.y + second.y) / 2 } };
}
