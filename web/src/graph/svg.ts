// A picture as an SVG file of its own: no script, no style from outside, every name escaped.
import { SIGNS } from '../parts/health';
import { LEGEND_OF_HEALTH, type Badge } from './badges';
import { frame, lineOf as strokeOf, type Caption, type Colours } from './frame';
import type { Layout } from './layout';
import { lineOf } from './line';
import { edgeWords, MASKED_ON_THE_WAY, type Picture, type PictureEdge, type PictureTable } from './picture';
import { HEAD, hiddenColumns, ROW, shownColumns, type Box } from './shape';
import { cut, escaped } from './svgText';
import { headingOf, subtitleOf } from './words';

const MARGIN = 20;
const CHARACTERS = 34;

/** Draw a picture as it is laid out, in the colours of the page, with what it shows above and what lines mean below. */
export function svgOf(picture: Picture, { places, routes }: Layout, opened: ReadonlySet<string>, caption: Caption, colours: Colours, badges: ReadonlyMap<string, Badge> = new Map()): string {
  const boxes = [...places.values()];
  const drawing = { width: Math.max(0, ...boxes.map((box) => box.x + box.width)), height: Math.max(0, ...boxes.map((box) => box.y + box.height)) };
  const notes = [...(caption.notes ?? []), ...(badges.size ? [LEGEND_OF_HEALTH] : [])];
  const around = frame(picture, { ...caption, notes }, colours, drawing);
  const [width, height] = [Math.ceil(around.width) + 2 * MARGIN, Math.ceil(around.height) + 2 * MARGIN];
  const tables = new Map(picture.tables.map((table) => [table.id, table]));
  const edges = picture.edges.filter((edge) => !edge.weak).map((edge) => edgePath(edge, tables, routes.get(edge.id), colours));
  const nodes = picture.tables.map((table) => tableBox(table, places.get(table.id), opened.has(table.id), colours) + badgeSign(badges.get(table.id), places.get(table.id), colours)).join('');
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" ` +
    `font-family="system-ui, sans-serif" font-size="12"><title>${escaped(`${cut(caption.title, 240)}. ${cut(caption.said, 240)}`)}</title>` +
    `<rect x="${-MARGIN}" y="${-MARGIN}" width="${width}" height="${height}" fill="${colours.bg}"/>` +
    `${around.svg}<g transform="translate(0,${around.top})">${edges.map(({ path }) => path).join('')}${nodes}${edges.map(({ label }) => label).join('')}</g></svg>`
  );
}

function edgePath(edge: PictureEdge, tables: ReadonlyMap<string, PictureTable>, route: Parameters<typeof lineOf>[0] | undefined, colours: Colours) {
  const [from, to] = [tables.get(edge.from), tables.get(edge.to)];
  if (!from || !to || !route) return { path: '', label: '' };
  const line = lineOf(route, edge.toColumn !== undefined);
  const { stroke, width, dash } = strokeOf(edge, colours);
  const title = escaped(`${from.name} ${edge.fromColumn ?? ''} → ${to.name} ${edge.toColumn ?? ''}${edge.masked ? ' (masks)' : ''}`);
  const path =
    `<path d="${line.path}" fill="none" stroke="${stroke}" stroke-width="${width}"` +
    `${dash ? ` stroke-dasharray="${dash}"` : ''}><title>${title}</title></path>`;
  return { path, label: edgeLabel(edgeWords(edge), line.label.x, line.label.y, stroke, colours) };
}

function edgeLabel(said: string, x: number, y: number, stroke: string, colours: Colours): string {
  if (!said) return '';
  const width = 12 + 6 * said.length;
  return (
    `<g><rect x="${x - width / 2}" y="${y - 8}" width="${width}" height="16" rx="8" fill="${colours.panel}" stroke="${stroke}"/>` +
    `<text x="${x}" y="${y + 4}" font-size="10" text-anchor="middle" fill="${stroke}">${escaped(said)}</text></g>`
  );
}

/** On the upper edge of its box, to the right, as on the screen. */
function badgeSign(badge: Badge | undefined, box: Box | undefined, colours: Colours): string {
  if (!badge || !box) return '';
  const said = [SIGNS[badge.status], badge.said].filter(Boolean).join(' ');
  const colour = { failed: colours.bad, late: colours.warn, stale: colours.warn, ok: colours.good, unknown: colours.dim }[badge.status];
  const [width, right] = [10 + 7 * said.length, box.x + box.width - 6];
  return (
    `<g><title>${escaped(`${badge.said || badge.status}: ${cut(badge.told, 240)}`)}</title><rect x="${right - width}" y="${box.y - 9}" width="${width}" height="18" rx="9" fill="${colours.panel}" stroke="${colour}"/>` +
    `<text x="${right - width / 2}" y="${box.y + 4}" text-anchor="middle" fill="${colour}">${escaped(said)}</text></g>`
  );
}

function tableBox(table: PictureTable, box: Box | undefined, open: boolean, colours: Colours): string {
  if (!box) return '';
  const changed = { added: colours.good, removed: colours.bad };
  const stroke = table.change ? changed[table.change] : table.subject ? colours.accent : colours.line;
  const rows = shownColumns(table, open).map((column, at) => {
    const [mark, y] = [column.subject ? '● ' : '', box.y + HEAD + at * ROW + 15];
    const colour = column.change ? changed[column.change] : colours.text;
    const name = `<text x="${box.x + 10}" y="${y}" fill="${colour}">${escaped(mark + cut(column.name, column.maskedOnTheWay ? CHARACTERS / 2 : CHARACTERS))}</text>`;
    const aside = `<text x="${box.x + box.width - 8}" y="${y}" font-size="9" text-anchor="end" fill="${colours.good}">${MASKED_ON_THE_WAY}</text>`;
    return column.maskedOnTheWay ? name + aside : name;
  });
  const hidden = hiddenColumns(table, open);
  const more = hidden > 0 ? `<text x="${box.x + 10}" y="${box.y + box.height - 9}" fill="${colours.dim}">${hidden} more columns</text>` : '';
  return (
    `<g><title>${escaped(`${table.namespace}/${table.name}`)}</title>` +
    `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="6" fill="${colours.panel}" stroke="${stroke}" stroke-width="${table.subject ? 2 : 1}"/>` +
    `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${HEAD}" rx="6" fill="${colours.head}"/>` +
    `<text x="${box.x + 10}" y="${box.y + 20}" font-weight="600" fill="${colours.text}">${escaped(cut(headingOf(table), CHARACTERS))}</text>` +
    `<text x="${box.x + 10}" y="${box.y + 37}" font-size="10" fill="${colours.dim}">${escaped(cut(subtitleOf(table), CHARACTERS + 6))}</text>${rows.join('')}${more}</g>`
  );
}

const PNG_SIDE = 8_000;
const PNG_PIXELS = 40e6; // 160 MB while it is painted
const STRIP_PIXELS = 1e6;

const TOO_LARGE = 'The picture is too large for a PNG. Save an SVG.';

/** Paint an SVG as a PNG, at twice its size while that stays below what browsers paint. */
export async function pngOf(svg: string): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode().catch(() => Promise.reject(new Error(TOO_LARGE)));
    const scale = Math.min(2, PNG_SIDE / Math.max(image.width, image.height), Math.sqrt(PNG_PIXELS / (image.width * image.height)));
    const canvas = document.createElement('canvas');
    canvas.width = Math.ceil(image.width * scale);
    canvas.height = Math.ceil(image.height * scale);
    await paint(image, canvas);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error(TOO_LARGE)))),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Paint strip by strip, each in a task of its own: the page answers meanwhile. */
async function paint(image: HTMLImageElement, canvas: HTMLCanvasElement): Promise<void> {
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const rows = Math.ceil(STRIP_PIXELS / canvas.width);
  for (let top = 0; context && top < canvas.height; top += rows) {
    context.save();
    context.beginPath();
    context.rect(0, top, canvas.width, rows);
    context.clip();
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    context.restore();
    context.getImageData(0, top, 1, 1); // paints now; else all is painted when the file is asked for
    await new Promise((resolve) => setTimeout(resolve));
  }
}
