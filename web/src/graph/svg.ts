// Renders a drawing as a self-contained SVG file, without scripts and external styles. All names are escaped.
import { FONT, TEXT_PX, type Drawing, type Mark } from './marks';
import { escaped } from './svgText';

export function svgOf({ title, x, y, width, height, marks }: Drawing): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${x} ${y} ${width} ${height}" ` +
    `font-family="${FONT}" font-size="${TEXT_PX}">${titleOf(title)}${marks.map(written).join('')}</svg>`
  );
}

const titleOf = (title: string | undefined): string => (title === undefined ? '' : `<title>${escaped(title)}</title>`);

type Value = string | number | false | undefined;

/** Format an element. Attributes without a value are left out. */
function element(name: string, attributes: Readonly<Record<string, Value>>, inside: string): string {
  const attributeText = Object.entries(attributes).map(([key, value]) => (value === undefined || value === false ? '' : ` ${key}="${value}"`));
  return `<${name}${attributeText.join('')}>${inside}</${name}>`;
}

function written(mark: Mark): string {
  const title = titleOf(mark.title);
  switch (mark.kind) {
    case 'group':
      return element('g', { transform: mark.down !== undefined && `translate(0,${mark.down})` }, title + mark.marks.map(written).join(''));
    case 'rectangle': {
      const { x, y, width, height, radius, fill, stroke, strokeWidth } = mark;
      return element('rect', { x, y, width, height, rx: radius, fill, stroke, 'stroke-width': strokeWidth }, title);
    }
    case 'path':
      return element('path', { d: mark.d, fill: 'none', stroke: mark.stroke, 'stroke-width': mark.width, 'stroke-dasharray': mark.dash }, title);
    case 'words': {
      const { x, y, fill, size, bold, anchor, text } = mark;
      return element('text', { x, y, 'font-size': size, 'font-weight': bold && 600, 'text-anchor': anchor, fill }, title + escaped(text));
    }
  }
}
