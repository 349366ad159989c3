// The frame of a saved picture: title, time and legend, in the colours of the page.
import { time } from '../parts/format';
import type { Mark } from './marks';
import type { Picture } from './picture';
import { cut } from './svgText';
import type { View } from './view';

const NAMES = ['bg', 'panel', 'text', 'dim', 'line', 'accent', 'accent-bg', 'good', 'bad', 'warn', 'head'] as const;

/** Colours by their names in app.css, which defines them. */
export type Colours = Readonly<Record<(typeof NAMES)[number], string>>;

/** The current colours of the page, dark or light. */
export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim() || '#808080'])) as Colours;
}

export interface Caption {
  title: string;
  /** The subject, the time and the display options. */
  subtitle: string;
  /** Further lines below the legend. */
  notes?: readonly string[];
}

/** Return the caption of a lineage picture. saved: the time at which the picture is saved. */
export function captionOf(view: View, title: string, saved: Date): Caption {
  const now = `${time(saved.getTime())} UTC`;
  const details = [
    view.dataset && [view.namespace, view.dataset].filter(Boolean).join('/'),
    view.asOf ? `as of ${time(view.asOf)} UTC, saved ${now}` : `as of ${now}`,
    view.since && `compared with ${time(view.since)} UTC`,
    view.every && 'including historical lineage',
    view.column && (view.mode === 'any' ? 'values, filters, joins and groups' : 'values'),
    view.target.dataset && `path to ${view.target.dataset} ${view.target.column}`.trim(),
  ];
  return { title, subtitle: details.filter(Boolean).join(' · ') };
}

/** The caption of a job graph. */
export function captionOfJobs(title: string, granularity: string, saved: Date): Caption {
  return { title, subtitle: `as of ${time(saved.getTime())} UTC · jobs as ${granularity}` };
}

interface Stroke {
  stroke: string;
  width: number;
  dash?: string;
}

interface Sample extends Stroke {
  label: string;
}

/** The stroke of an edge. */
export function lineOf(edge: Pick<Picture['edges'][number], 'indirect' | 'masked' | 'opaque' | 'change' | 'many' | 'control'>, colours: Colours): Stroke {
  const width = 1.3 + Math.min(4, Math.log2(edge.many));
  const dash = edge.control ? '12 4 3 4' : edge.indirect ? '6 4' : edge.opaque ? '2 4' : undefined;
  const stroke = edge.change === 'added' ? colours.good : edge.change === 'removed' ? colours.bad : edge.masked ? colours.good : edge.control ? colours.accent : colours.dim;
  return { stroke, width, ...(dash && { dash }) };
}

/** The legend entries for the kinds of edges in this picture. */
function samples(picture: Picture, colours: Colours): Sample[] {
  const none = { indirect: false, masked: false, opaque: false, change: undefined, many: 1 } as const;
  const isOfJobs = picture.tables.every((table) => (table.members?.[0] ?? table).kind === 'job');
  const kinds: [string, (edge: Picture['edges'][number]) => boolean, Partial<Picture['edges'][number]>][] = [
    ['direct: passes values', (edge) => !edge.indirect && !edge.opaque && !edge.control && !isOfJobs, {}],
    ['data flow: one job writes datasets that the other reads', (edge) => !edge.control && isOfJobs, {}],
    ['control flow: one job waits for the other', (edge) => edge.control === true, { control: true }],
    ['indirect: filters, joins, groups or sorts', (edge) => edge.indirect, { indirect: true }],
    ['masks values', (edge) => edge.masked, { masked: true }],
    ['columns unknown: the job reports only datasets', (edge) => edge.opaque, { opaque: true }],
    ['+ added since the earlier time', (edge) => edge.change === 'added', { change: 'added' }],
    ['− removed since then', (edge) => edge.change === 'removed', { change: 'removed' }],
  ];
  return kinds.filter(([, has]) => picture.edges.some(has)).map(([label, , looks]) => ({ ...lineOf({ ...none, ...looks }, colours), label }));
}

const [TOP, LINE, CHARACTER_PX, MOST] = [54, 20, 7, 240];

export interface Framed {
  width: number;
  height: number;
  /** The y position of the drawing, below the title. */
  top: number;
  marks: Mark[];
}

/** Draw title and legend around a drawing of this size. The result is wide enough for the drawing and for the legend. */
export function frame(picture: Picture, caption: Caption, colours: Colours, drawing: { width: number; height: number }): Framed {
  const legend = [...samples(picture, colours), ...(caption.notes ?? []).map((label): Sample => ({ label, stroke: 'none', width: 0 }))];
  const [title, subtitle] = [cut(caption.title, MOST / 2), cut(caption.subtitle, MOST)];
  const longest = Math.max(title.length * 10, subtitle.length * CHARACTER_PX, ...legend.map((each) => 60 + each.label.length * CHARACTER_PX));
  const [width, height] = [Math.max(drawing.width, longest), TOP + drawing.height + (legend.length + 2) * LINE];
  const lines = legend.flatMap(({ label, ...stroke }, at): Mark[] => {
    const y = TOP + drawing.height + (at + 1.2) * LINE;
    const words: Mark = { kind: 'words', x: 48, y: y + 4, text: label, fill: colours.text };
    return stroke.width ? [{ kind: 'path', d: `M0,${y}H38`, ...stroke }, words] : [words];
  });
  const marks: Mark[] = [
    { kind: 'words', x: 0, y: 18, text: title, size: 16, bold: true, fill: colours.text },
    { kind: 'words', x: 0, y: 37, text: subtitle, fill: colours.dim },
    ...lines,
  ];
  return { width, height, top: TOP, marks };
}
