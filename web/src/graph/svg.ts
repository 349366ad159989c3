// A picture as an SVG file of its own: no script, no style from outside, every name escaped.
import type { Layout } from './layout';
import { lineOf } from './line';
import { MASKED_ON_THE_WAY, type Picture, type PictureEdge, type PictureTable } from './picture';
import { HEAD, ROW, shownColumns, type Box } from './shape';
import { headingOf, subtitleOf } from './words';

const MARGIN = 20;
const CHARACTERS = 34;
const COLOUR = { added: '#1a7f37', removed: '#cf222e', line: '#57606a', text: '#1f2328', dim: '#57606a', head: '#eaf2f8' };

/** Draw a picture as it is laid out. */
export function svgOf(picture: Picture, { places, routes }: Layout, opened: ReadonlySet<string>): string {
  const boxes = [...places.values()];
  const width = Math.max(0, ...boxes.map((box) => box.x + box.width)) + 2 * MARGIN;
  const height = Math.max(0, ...boxes.map((box) => box.y + box.height)) + 2 * MARGIN;
  const tables = new Map(picture.tables.map((table) => [table.id, table]));
  const edges = picture.edges.filter((edge) => !edge.weak).map((edge) => edgePath(edge, tables, routes.get(edge.id))).join('');
  const nodes = picture.tables.map((table) => tableBox(table, places.get(table.id), opened.has(table.id))).join('');
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" ` +
    `font-family="system-ui, sans-serif" font-size="12"><rect x="${-MARGIN}" y="${-MARGIN}" width="${width}" height="${height}" fill="#fff"/>` +
    `${edges}${nodes}</svg>`
  );
}

function edgePath(edge: PictureEdge, tables: ReadonlyMap<string, PictureTable>, route: Parameters<typeof lineOf>[0] | undefined): string {
  const [from, to] = [tables.get(edge.from), tables.get(edge.to)];
  if (!from || !to || !route) return '';
  const dash = edge.indirect ? ' stroke-dasharray="5 4"' : edge.opaque ? ' stroke-dasharray="2 3"' : '';
  const colour = edge.change ? COLOUR[edge.change] : COLOUR.line;
  const title = escaped(`${from.name} ${edge.fromColumn ?? ''} → ${to.name} ${edge.toColumn ?? ''}${edge.masked ? ' (masks)' : ''}`);
  return `<path d="${lineOf(route).path}" fill="none" stroke="${colour}"${dash}><title>${title}</title></path>`;
}

function tableBox(table: PictureTable, box: Box | undefined, open: boolean): string {
  if (!box) return '';
  const stroke = table.change ? COLOUR[table.change] : table.subject ? '#0b5d8a' : '#afb8c1';
  const rows = shownColumns(table, open).map((column, at) => {
    const [mark, y] = [column.subject ? '● ' : '', box.y + HEAD + at * ROW + 15];
    const colour = column.change ? COLOUR[column.change] : COLOUR.text;
    const name = `<text x="${box.x + 10}" y="${y}" fill="${colour}">${escaped(mark + cut(column.name))}</text>`;
    const aside = `<text x="${box.x + box.width - 8}" y="${y}" font-size="9" text-anchor="end" fill="${COLOUR.dim}">${MASKED_ON_THE_WAY}</text>`;
    return column.maskedOnTheWay ? name + aside : name;
  });
  return (
    `<g><title>${escaped(`${table.namespace}/${table.name}`)}</title>` +
    `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="6" fill="#fff" stroke="${stroke}"/>` +
    `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${HEAD}" rx="6" fill="${COLOUR.head}"/>` +
    `<text x="${box.x + 10}" y="${box.y + 20}" font-weight="600" fill="${COLOUR.text}">${escaped(cut(headingOf(table)))}</text>` +
    `<text x="${box.x + 10}" y="${box.y + 37}" font-size="10" fill="${COLOUR.dim}">${escaped(cut(subtitleOf(table)))}</text>${rows.join('')}</g>`
  );
}

const LETTERS = new Intl.Segmenter();

function cut(text: string): string {
  const letters = [...LETTERS.segment(text)];
  return letters.length > CHARACTERS ? `${text.slice(0, letters[CHARACTERS - 1]?.index)}…` : text;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** Text inside XML; characters that XML has not are left out. */
export function escaped(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what XML 1.0 cannot hold
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '').replace(/[&<>"']/g, (each) => ENTITIES[each] ?? '');
}

const PNG_SIDE = 8_000;

/** Paint an SVG as a PNG, at twice its size while that stays below what browsers paint. */
export async function pngOf(svg: string): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const scale = Math.min(2, PNG_SIDE / Math.max(image.width, image.height));
    const canvas = document.createElement('canvas');
    canvas.width = Math.ceil(image.width * scale);
    canvas.height = Math.ceil(image.height * scale);
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The picture is too large for a PNG. Save an SVG.')))),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}
