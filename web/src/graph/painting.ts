// Renders a drawing as PNG, in a worker.
import { visible } from '../shown/invisible';
import { FONT, TEXT_PX, type Drawing, type Mark, type Rectangle } from './marks';

const SIDE = 8_000;
const PIXELS = 40e6; // maximum number of pixels; painting takes 160 MB of memory

const TOO_LARGE = 'The picture is too large for a PNG. Save it as SVG.';

/** Render a drawing as PNG at up to twice its size, within the limits of browsers. Throws if it is too large for this browser. */
export async function pngOf({ x, y, width, height, marks }: Drawing): Promise<Blob> {
  const scale = Math.min(2, SIDE / Math.max(width, height), Math.sqrt(PIXELS / (width * height)));
  const canvas = new OffscreenCanvas(Math.ceil(width * scale), Math.ceil(height * scale));
  const context = canvas.getContext('2d');
  if (!context) throw new Error(TOO_LARGE);
  context.scale(scale, scale);
  context.translate(-x, -y);
  for (const mark of marks) paint(context, mark);
  return canvas.convertToBlob({ type: 'image/png' }).catch(() => Promise.reject(new Error(TOO_LARGE)));
}

type Context = OffscreenCanvasRenderingContext2D;

function paint(context: Context, mark: Mark): void {
  switch (mark.kind) {
    case 'group':
      context.translate(0, mark.down ?? 0);
      for (const each of mark.marks) paint(context, each);
      context.translate(0, -(mark.down ?? 0));
      break;
    case 'rectangle':
      rectangle(context, mark);
      break;
    case 'path':
      context.setLineDash(mark.dash?.split(' ').map(Number) ?? []);
      [context.strokeStyle, context.lineWidth] = [mark.stroke, mark.width];
      context.stroke(new Path2D(mark.d));
      break;
    case 'words':
      context.font = `${mark.bold ? '600 ' : ''}${mark.size ?? TEXT_PX}px ${FONT}`;
      context.textAlign = mark.anchor === 'middle' ? 'center' : (mark.anchor ?? 'start');
      context.fillStyle = mark.fill;
      context.fillText(visible(mark.text), mark.x, mark.y);
  }
}

function rectangle(context: Context, { x, y, width, height, radius, fill, stroke, strokeWidth }: Rectangle): void {
  context.setLineDash([]);
  context.beginPath();
  context.roundRect(x, y, width, height, radius ?? 0);
  context.fillStyle = fill;
  context.fill();
  if (stroke === undefined) return;
  [context.strokeStyle, context.lineWidth] = [stroke, strokeWidth ?? 1];
  context.stroke();
}
