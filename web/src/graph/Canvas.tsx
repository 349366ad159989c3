// A picture on the screen: boxes, edges in their lanes, and the keyboard's way through them.
import '@xyflow/react/dist/base.css';

import {
  BaseEdge, ControlButton, Controls, EdgeLabelRenderer, Position, ReactFlow, ReactFlowProvider, useReactFlow,
  type Edge, type EdgeProps,
} from '@xyflow/react'; // prettier-ignore
import { memo, useCallback, useDeferredValue, useEffect, useMemo, useState, type KeyboardEvent } from 'react';

import { count } from '../parts/format';
import { visible } from '../shown/odd';
import { ActsContext, TableBox, type Acts, type TableNode } from './Boxes';
import { lineOf, type Line } from './line';
import { MiniMap } from './MiniMap';
import { edgeWords, type PictureEdge } from './picture';
import { isAround, shownColumns, type Box } from './shape';
import { inSight, sight } from './sight';
import { isTravel, nextBox } from './travel';
import type { Laid } from './useLayout';
import { neighbours } from './ways';
import { headingOf } from './words';

type LineEdge = Edge<{ edge: PictureEdge; line: Line; chosen: boolean }, 'line'>;

const NODES = { table: memo(TableBox) };
const EDGES = { line: memo(LineOfEdge) };
const MIN_ZOOM = 0.03;

interface Props {
  laid: Laid;
  opened: ReadonlySet<string>;
  chosen: string | undefined;
  acts: Acts;
  /** What the view is about: another one is brought into sight. */
  about: string;
}

export function Canvas(props: Props) {
  return (
    <ActsContext value={props.acts}>
      <ReactFlowProvider>
        <Flow {...props} />
      </ReactFlowProvider>
    </ActsContext>
  );
}

function Flow({ laid, opened, chosen, acts, about }: Props) {
  const [pane, setPane] = useState<HTMLElement | null>(null);
  const isSeen = useSeenFirst(pane, laid);
  const nodes = useMemo(() => nodesOf(laid, opened, chosen), [laid, opened, chosen]);
  const rows = laid.picture.tables.reduce((sum, table) => sum + 1 + shownColumns(table, opened.has(table.id)).length, 0);
  const nodesShown = useRevealed(nodes, useCallback((node: TableNode) => isSeen(node.id), [isSeen]), Math.max(1, Math.floor((ROWS_A_FRAME * nodes.length) / rows)));
  const isReady = useDeferredValue(nodesShown === nodes); // edges are worked out in a task of their own
  const edges = useMemo(() => (isReady ? edgesOf(laid, chosen) : NO_EDGES), [laid, chosen, isReady]);
  const edgesShown = useRevealed(edges, useCallback((edge: LineEdge) => isSeen(edge.source, edge.target), [isSeen]), EDGES_A_FRAME);
  const look = useSight(pane, laid);
  const travel = useTravel(pane, laid);
  useEffect(() => {
    const frame = requestAnimationFrame(look);
    return () => cancelAnimationFrame(frame);
  }, [look, about]);
  return (
    <ReactFlow<TableNode, LineEdge>
      ref={setPane}
      nodes={nodesShown as TableNode[]} edges={edgesShown as LineEdge[]} data-drawn={nodesShown === nodes && isReady && edgesShown === edges} nodeTypes={NODES} edgeTypes={EDGES} minZoom={MIN_ZOOM} maxZoom={2} onlyRenderVisibleElements
      nodesDraggable={false} nodesConnectable={false} nodesFocusable={false} edgesFocusable onKeyDown={travel}
      onEdgesChange={(changes) => changes.forEach((change) => change.type === 'select' && change.selected && acts.onEdge(change.id))} proOptions={{ hideAttribution: true }}
      aria-label={`Graph of ${count(nodes.length)} boxes and ${count(edges.length)} edges. Arrows left and right follow edges, up and down go along a layer.`}
    >
      <Controls showInteractive={false} showFitView={false}>
        <ControlButton onClick={look} title="Show what was asked" aria-label="Show what was asked"><svg viewBox="0 0 12 12"><path d="M0 0h4v2H2v2H0zM8 0h4v4h-2V2H8zM0 8h2v2h2v2H0zM10 8h2v4H8v-2h2zM5 5h2v2H5z" /></svg></ControlButton>
      </Controls>
      <MiniMap laid={laid} />
    </ReactFlow>
  );
}

const NO_EDGES: LineEdge[] = [];
const [ROWS_A_FRAME, EDGES_A_FRAME] = [60, 40];

/** Give what is seen first, a part with each frame, then all else at once, which is not drawn: an empty canvas comes before. */
function useRevealed<T>(items: readonly T[], isSeen: (item: T) => boolean, step: number): readonly T[] {
  const [many, setMany] = useState(0);
  const seen = useMemo(() => items.filter(isSeen), [items, isSeen]);
  useEffect(() => {
    if (many > seen.length) return undefined;
    const frame = requestAnimationFrame(() => setMany((before) => before + step));
    return () => cancelAnimationFrame(frame);
  }, [many, seen.length, step]);
  return many > seen.length ? items : seen.slice(0, many);
}

/** Tell whether a box, or what leads from one to another, is in sight when the graph opens. */
function useSeenFirst(pane: HTMLElement | null, { places, picture }: Laid): (from: string, to?: string) => boolean {
  return useMemo(() => {
    const seen = pane ? inSight(sight(picture, places, pane.clientWidth, pane.clientHeight), pane.clientWidth, pane.clientHeight) : undefined;
    return (from, to = from) => {
      const [a, b] = [places.get(from), places.get(to)];
      return seen !== undefined && a !== undefined && b !== undefined && isAround(seen, a, b);
    };
  }, [pane, places, picture]);
}

/** Bring into sight: all of it where it can be read then, else what was asked. */
function useSight(pane: HTMLElement | null, { places, picture }: Laid): () => void {
  const { setViewport } = useReactFlow();
  return useCallback(() => {
    if (pane && places.size) void setViewport(sight(picture, places, pane.clientWidth, pane.clientHeight));
  }, [setViewport, pane, places, picture]);
}

/** Arrow keys lead from box to box; what is out of sight comes into it. */
function useTravel(pane: HTMLElement | null, { places, picture }: Laid): (event: KeyboardEvent) => void {
  const { setCenter, getZoom } = useReactFlow();
  return useCallback(
    (event) => {
      const here = (event.target as HTMLElement).closest('.react-flow__node')?.getAttribute('data-id');
      if (!here || !isTravel(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      const next = nextBox(here, event.key, places, neighbours(picture));
      const box = places.get(next ?? '');
      if (next === undefined || !box) return;
      const isSeen = () => inPane(pane, find(pane, next));
      if (!isSeen()) void setCenter(box.x + box.width / 2, box.y + Math.min(box.height / 2, 200), { zoom: getZoom() });
      focusSoon(() => find(pane, next)?.querySelector<HTMLElement>('.node-head'));
    },
    [setCenter, getZoom, pane, places, picture],
  );
}

const find = (pane: HTMLElement | null, id: string): HTMLElement | null => pane?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`) ?? null;

function inPane(pane: HTMLElement | null, node: HTMLElement | null): boolean {
  if (!pane || !node) return false;
  const [room, box] = [pane.getBoundingClientRect(), node.getBoundingClientRect()];
  return box.left >= room.left && box.right <= room.right && box.top >= room.top && box.top + 46 <= room.bottom;
}

/** A box out of sight is not there until it has come into it. */
function focusSoon(found: () => HTMLElement | null | undefined, frames = 30): void {
  const element = found();
  if (element) element.focus({ preventScroll: true });
  else if (frames) requestAnimationFrame(() => focusSoon(found, frames - 1));
}


function nodesOf({ picture, places }: Laid, opened: ReadonlySet<string>, chosen: string | undefined): TableNode[] {
  const beside = neighbours(picture);
  const sizes = new Map(picture.tables.map((table) => [table.id, table.members?.length ?? 1]));
  const many = (ids: ReadonlySet<string>) => [...ids].reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0);
  return picture.tables.flatMap((table) => {
    const box = places.get(table.id);
    if (!box) return [];
    const size = { width: box.width, height: box.height };
    const [ins, outs] = [many(beside(table.id).ins), many(beside(table.id).outs)];
    return [{
      id: table.id, type: 'table', selectable: false, position: { x: box.x, y: box.y }, ...size, measured: size,
      handles: [handle('target', Position.Left, 0, box), handle('source', Position.Right, box.width, box)],
      data: { table, open: opened.has(table.id), chosen: table.id === chosen, ins, outs },
    }]; // prettier-ignore
  });
}

function handle(type: 'source' | 'target', position: Position, x: number, box: Box) {
  return { type, position, x, y: box.height / 2, width: 1, height: 1 };
}

function edgesOf({ picture, routes }: Laid, chosen: string | undefined): LineEdge[] {
  const names = new Map(picture.tables.map((table) => [table.id, headingOf(table)]));
  return picture.edges.flatMap((edge) => {
    const route = routes.get(edge.id);
    if (!route || (edge.weak && edge.from !== chosen && edge.to !== chosen)) return [];
    return [{
      id: edge.id, type: 'line', source: edge.from, target: edge.to, ariaLabel: edgeLabel(edge, names),
      data: { edge, line: lineOf(route, edge.toColumn !== undefined), chosen: edge.id === chosen },
    }]; // prettier-ignore
  });
}

function edgeLabel(edge: PictureEdge, names: ReadonlyMap<string, string>): string {
  const marks = [edge.control && 'control flow', edge.indirect && 'indirect', edge.masked && 'masks', edge.opaque && 'without columns', edge.change].filter(Boolean);
  const said = marks.length ? ` (${marks.join(', ')})` : '';
  return visible(`From ${names.get(edge.from) ?? ''} ${edge.fromColumn ?? ''} to ${names.get(edge.to) ?? ''} ${edge.toColumn ?? ''}${said}`);
}

function LineOfEdge({ data }: EdgeProps<LineEdge>) {
  if (!data) return null;
  const { edge, line, chosen } = data;
  const marks = [edge.control && 'control', edge.indirect && 'indirect', edge.masked && 'masked', edge.opaque && 'opaque', edge.change, chosen && 'chosen'];
  return (
    <>
      <BaseEdge path={line.path} className={`line ${marks.filter(Boolean).join(' ')}`} style={{ strokeWidth: 1.3 + Math.min(4, Math.log2(edge.many)) }} interactionWidth={12} />
      {edgeWords(edge) && (
        <EdgeLabelRenderer>
          <span className={`line-label ${edge.change ?? ''}`} style={{ transform: `translate(-50%, -50%) translate(${line.label.x}px, ${line.label.y}px)` }}>
            {edgeWords(edge)}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
}
