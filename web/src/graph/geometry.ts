// Points and boxes of a layout (px, y downwards).

export interface Point {
  x: number;
  y: number;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Return the smallest box that contains all boxes. Without boxes, return an empty box at the origin. */
export function boundingBox(boxes: readonly Box[]): Box {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width, height } of boxes) {
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + width), Math.max(bottom, y + height)];
  }
  return boxes.length ? { x: left, y: top, width: right - left, height: bottom - top } : { x: 0, y: 0, width: 0, height: 0 };
}

/** Return whether a box overlaps the bounding box of two other boxes. */
export const overlapsBoundingBox = (box: Box, a: Box, b: Box): boolean =>
  Math.min(a.x, b.x) <= box.x + box.width && Math.max(a.x + a.width, b.x + b.width) >= box.x &&
  Math.min(a.y, b.y) <= box.y + box.height && Math.max(a.y + a.height, b.y + b.height) >= box.y; // prettier-ignore
