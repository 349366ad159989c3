// Where each box goes: ELK in a worker, so that the page stays quick meanwhile.
import ELK, { type ELK as Elk, type ElkNode } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';

import { loaded } from '../shell/coming';
import type { Picture } from './picture';
import { heightOf, WIDTH, type Box } from './shape';

export type Places = ReadonlyMap<string, Box>;

const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.direction': 'RIGHT',
  'elk.layered.spacing.nodeNodeBetweenLayers': '110',
  'elk.spacing.nodeNode': '28',
  'elk.spacing.componentComponent': '60',
  'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF',
  'elk.layered.thoroughness': '3',
  'elk.edgeRouting': 'POLYLINE',
  'elk.aspectRatio': '1.6',
};

let elk: Promise<Elk> | undefined;

/** Start the worker: it takes longer to load than most answers. */
export function warm(): Promise<Elk> {
  elk ??= loaded(started);
  return elk;
}

/** A worker whose file does not come never answers, but tells of it. */
function started(): Promise<Elk> {
  return new Promise((resolve, reject) => {
    const workerFactory = () => {
      const worker = new Worker(workerUrl);
      worker.onerror = () => reject(new Error('The layout does not come.'));
      return worker;
    };
    const made = new ELK({ workerFactory });
    made.knownLayoutAlgorithms().then(() => resolve(made), reject);
  });
}

/** Place every table; edges between two tables count once, however many columns they join. */
export async function layOut(picture: Picture, opened: ReadonlySet<string>): Promise<Places> {
  const placed = await (await warm()).layout(elkGraph(picture, opened));
  return new Map((placed.children ?? []).map((node) => [node.id, boxOf(node)]));
}

function boxOf({ x = 0, y = 0, width = WIDTH, height = 0 }: ElkNode): Box {
  return { x, y, width, height };
}

export function elkGraph(picture: Picture, opened: ReadonlySet<string>): ElkNode {
  const known = new Set(picture.tables.map((table) => table.id));
  const pairs = new Map<string, { id: string; sources: string[]; targets: string[] }>();
  for (const { from, to } of picture.edges) {
    const id = JSON.stringify([from, to]);
    if (from !== to && known.has(from) && known.has(to)) pairs.set(id, { id, sources: [from], targets: [to] });
  }
  return {
    id: 'root',
    layoutOptions: OPTIONS,
    children: picture.tables.map((table) => ({ id: table.id, width: WIDTH, height: heightOf(table, opened.has(table.id)) })),
    edges: [...pairs.values()],
  };
}
