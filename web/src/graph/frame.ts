// What stands around a saved picture: what is drawn, of which moment, what lines mean, in the colours of the page.
import { time } from '../parts/format';
import type { Mark } from './marks';
import type { Picture } from './picture';
import { cut } from './svgText';
import type { View } from './view';

const NAMES = ['bg', 'panel', 'text', 'dim', 'line', 'accent', 'accent-bg', 'good', 'bad', 'warn', 'head'] as const;

/** Colours by their names in app.css, where they stand once. */
export type Colours = Readonly<Record<(typeof NAMES)[number], string>>;

/** The colours that the page has now, dark or light. */
export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim() || '#808080'])) as Colours;
}

export interface Caption {
  title: string;
  /** Of which moment, and how it was asked. */
  said: string;
  /** What stands below what lines mean. */
  notes?: readonly string[];
}

/** Say what a picture shows; saved: when it is saved. */
export function captionOf(view: View, title: string, saved: Date): Caption {
  const now = `${time(saved.getTime())} UTC`;
  const said = [
    view.dataset && [view.namespace, view.dataset].filter(Boolean).join('/'),
    view.asOf ? `as of ${time(view.asOf)} UTC, saved ${now}` : `as of ${now}`,
    view.since && `compared with ${time(view.since)} UTC`,
    view.every && 'all that ever was',
    view.column && (view.mode === 'any' ? 'values, filters, joins and groups' : 'values'),
    view.target.dataset && `the way to ${view.target.dataset} ${view.target.column}`.trim(),
  ];
  return { title, said: said.filter(Boolean).join(' · ') };
}

/** The same of a graph of jobs. */
export function captionOfJobs(title: string, granularity: string, saved: Date): Caption {
  return { title, said: `as of ${time(saved.getTime())} UTC · jobs as ${granularity}` };
}

interface Stroke {
  stroke: string;
  width: number;
  dash?: string;
}

interface Sample extends Stroke {
  said: string;
}

/** How each kind of edge is drawn; the first that fits. */
export function lineOf(edge: Pick<Picture['edges'][number], 'indirect' | 'masked' | 'opaque' | 'change' | 'many' | 'control'>, colours: Colours): Stroke {
  const width = 1.3 + Math.min(4, Math.log2(edge.many));
  const dash = edge.control ? '12 4 3 4' : edge.indirect ? '6 4' : edge.opaque ? '2 4' : undefined;
  const stroke = edge.change === 'added' ? colours.good : edge.change === 'removed' ? colours.bad : edge.masked ? colours.good : edge.control ? colours.accent : colours.dim;
  return { stroke, width, ...(dash && { dash }) };
}

/** What the lines of this picture mean: those that are in it. */
function samples(picture: Picture, colours: Colours): Sample[] {
  const none = { indirect: false, masked: false, opaque: false, change: undefined, many: 1 } as const;
  const isOfJobs = picture.tables.every((table) => (table.members?.[0] ?? table).kind === 'job');
  const kinds: [string, (edge: Picture['edges'][number]) => boolean, Partial<Picture['edges'][number]>][] = [
    ['a value goes on', (edge) => !edge.indirect && !edge.opaque && !edge.control && !isOfJobs, {}],
    ['data: one writes what the other reads', (edge) => !edge.control && isOfJobs, {}],
    ['control: it waits for the other', (edge) => edge.control === true, { control: true }],
    ['INDIRECT: it filters, joins, groups or sorts', (edge) => edge.indirect, { indirect: true }],
    ['masks: a step that masks', (edge) => edge.masked, { masked: true }],
    ['without columns: nobody says which', (edge) => edge.opaque, { opaque: true }],
    ['+ new since the earlier date', (edge) => edge.change === 'added', { change: 'added' }],
    ['− gone since then', (edge) => edge.change === 'removed', { change: 'removed' }],
  ];
  return kinds.filter(([, has]) => picture.edges.some(has)).map(([said, , looks]) => ({ ...lineOf({ ...none, ...looks }, colours), said }));
}

const [TOP, LINE, CHARACTER_PX, MOST] = [54, 20, 7, 240];

export interface Framed {
  width: number;
  height: number;
  /** Where the drawing begins below the title. */
  top: number;
  marks: Mark[];
}

/** Draw title and legend around a drawing of a size; the whole is as wide as both need. */
export function frame(picture: Picture, caption: Caption, colours: Colours, drawing: { width: number; height: number }): Framed {
  const legend = [...samples(picture, colours), ...(caption.notes ?? []).map((said): Sample => ({ said, stroke: 'none', width: 0 }))];
  const [title, said] = [cut(caption.title, MOST / 2), cut(caption.said, MOST)];
  const longest = Math.max(title.length * 10, said.length * CHARACTER_PX, ...legend.map((each) => 60 + each.said.length * CHARACTER_PX));
  const [width, height] = [Math.max(drawing.width, longest), TOP + drawing.height + (legend.length + 2) * LINE];
  const lines = legend.flatMap(({ said: meant, ...stroke }, at): Mark[] => {
    const y = TOP + drawing.height + (at + 1.2) * LINE;
    const words: Mark = { kind: 'words', x: 48, y: y + 4, said: meant, fill: colours.text };
    return stroke.width ? [{ kind: 'path', d: `M0,${y}H38`, ...stroke }, words] : [words];
  });
  const marks: Mark[] = [
    { kind: 'words', x: 0, y: 18, said: title, size: 16, bold: true, fill: colours.text },
    { kind: 'words', x: 0, y: 37, said, fill: colours.dim },
    ...lines,
  ];
  return { width, height, top: TOP, marks };
}
