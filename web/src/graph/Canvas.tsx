// Draws a graph on the screen: boxes, edges in their lanes, and keyboard navigation.
import '@xyflow/react/dist/base.css';

import {
  BaseEdge, ControlButton, Controls, EdgeLabelRenderer, Position, ReactFlow, ReactFlowProvider, useReactFlow,
  type Edge, type EdgeProps,
} from '@xyflow/react'; // prettier-ignore
import { memo, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';

import { count } from '../parts/format';
import { visible } from '../shown/invisible';
import { GraphActionsContext, NamespaceContext, TableBox, type GraphActions, type TableNode } from './Boxes';
import { overlapsBoundingBox, type Box } from './geometry';
import { lineOf, type Line } from './line';
import { Highlight, HighlightContext, useHasPath, useIsEdgeOnPath } from './highlight';
import { MiniMap } from './MiniMap';
import { edgeWords, type PictureEdge } from './picture';
import { shownColumns } from './shape';
import { visibleArea, initialViewport } from './viewport';
import { isArrowKey, nextBox } from './keyboardNavigation';
import type { GraphLayout } from './useLayout';
import { degreesOf, neighbours } from './neighbours';
import { commonNamespace, headingOf } from './words';

type LineEdge = Edge<{ edge: PictureEdge; line: Line; chosen: boolean }, 'line'>;

const NODES = { table: memo(TableBox) };
const EDGES = { line: memo(LineOfEdge) };
const MIN_ZOOM = 0.03;

interface Props {
  layout: GraphLayout;
  opened: ReadonlySet<string>;
  chosen: string | undefined;
  actions: GraphActions;
  /** Identifies the subject of the view. When it changes, the canvas moves to the new subject. */
  about: string;
}

export function Canvas(props: Props) {
  const { tables } = props.layout.picture;
  const namespace = useMemo(() => commonNamespace(tables), [tables]);
  const highlight = useMemo(() => new Highlight(props.layout.picture), [props.layout.picture]);
  return (
    <GraphActionsContext value={props.actions}>
      <NamespaceContext value={namespace}>
        <HighlightContext value={highlight}>
          <ReactFlowProvider>
            <Flow {...props} highlight={highlight} />
          </ReactFlowProvider>
        </HighlightContext>
      </NamespaceContext>
    </GraphActionsContext>
  );
}

function Flow({ layout, opened, chosen, actions, about, highlight }: Props & { highlight: Highlight }) {
  const [pane, setPane] = useState<HTMLElement | null>(null);
  const isVisible = useInitiallyVisible(pane, layout);
  const nodes = useMemo(() => nodesOf(layout, opened, chosen), [layout, opened, chosen]);
  const rows = layout.picture.tables.reduce((sum, table) => sum + 1 + shownColumns(table, opened.has(table.id)).length, 0);
  const nodesShown = useProgressiveItems(nodes, useCallback((node: TableNode) => isVisible(node.id), [isVisible]), Math.max(1, Math.floor((ROWS_A_FRAME * nodes.length) / rows)));
  const isReady = useDeferredValue(nodesShown === nodes); // edges are computed in a later task, so that boxes appear first
  const edges = useMemo(() => (isReady ? edgesOf(layout, chosen) : NO_EDGES), [layout, chosen, isReady]);
  const edgesShown = useProgressiveItems(edges, useCallback((edge: LineEdge) => isVisible(edge.source, edge.target), [isVisible]), EDGES_A_FRAME);
  const showSubject = useShowSubject(pane, layout);
  const onArrowKey = useArrowKeys(pane, layout);
  useEffect(() => {
    const frame = requestAnimationFrame(showSubject);
    return () => cancelAnimationFrame(frame);
  }, [showSubject, about]);
  const onMove = useRefit(pane, showSubject);
  return (
    <ReactFlow<TableNode, LineEdge>
      ref={setPane} className={useHasPath(highlight) ? 'has-path' : ''}
      nodes={nodesShown as TableNode[]} edges={edgesShown as LineEdge[]} data-drawn={nodesShown === nodes && isReady && edgesShown === edges} nodeTypes={NODES} edgeTypes={EDGES} minZoom={MIN_ZOOM} maxZoom={2} onlyRenderVisibleElements
      nodesDraggable={false} nodesConnectable={false} nodesFocusable={false} edgesFocusable onKeyDown={onArrowKey}
      onMove={onMove}
      onEdgesChange={(changes) => changes.forEach((change) => change.type === 'select' && change.selected && actions.onEdge(change.id))} proOptions={{ hideAttribution: true }}
      aria-label={`Graph of ${count(nodes.length)} boxes and ${count(edges.length)} edges. Arrows left and right follow edges, up and down go along a layer.`}
    >
      <Controls showInteractive={false} showFitView={false}>
        <ControlButton onClick={showSubject} title="Show selection" aria-label="Show selection"><svg viewBox="0 0 12 12"><path d="M0 0h4v2H2v2H0zM8 0h4v4h-2V2H8zM0 8h2v2h2v2H0zM10 8h2v4H8v-2h2zM5 5h2v2H5z" /></svg></ControlButton>
      </Controls>
      <MiniMap layout={layout} />
    </ReactFlow>
  );
}

const NO_EDGES: LineEdge[] = [];
const [ROWS_A_FRAME, EDGES_A_FRAME] = [60, 40];

/** Return the visible items first, `step` more items with each frame, and finally all items. */
function useProgressiveItems<T>(items: readonly T[], isVisible: (item: T) => boolean, step: number): readonly T[] {
  const [many, setMany] = useState(0);
  const seen = useMemo(() => items.filter(isVisible), [items, isVisible]);
  useEffect(() => {
    if (many > seen.length) return undefined;
    const frame = requestAnimationFrame(() => setMany((before) => before + step));
    return () => cancelAnimationFrame(frame);
  }, [many, seen.length, step]);
  return many > seen.length ? items : seen.slice(0, many);
}

/** Return a function that tests whether a box, or the edge between two boxes, is visible when the graph opens. */
function useInitiallyVisible(pane: HTMLElement | null, { places, picture }: GraphLayout): (from: string, to?: string) => boolean {
  return useMemo(() => {
    const seen = pane ? visibleArea(initialViewport(picture, places, pane.clientWidth, pane.clientHeight), pane.clientWidth, pane.clientHeight) : undefined;
    return (from, to = from) => {
      const [a, b] = [places.get(from), places.get(to)];
      return seen !== undefined && a !== undefined && b !== undefined && overlapsBoundingBox(seen, a, b);
    };
  }, [pane, places, picture]);
}

/** Return a function that shows the whole graph if its text stays readable, and otherwise the selected box. */
function useShowSubject(pane: HTMLElement | null, { places, picture }: GraphLayout): () => void {
  const { setViewport } = useReactFlow();
  return useCallback(() => {
    if (pane && places.size) void setViewport(initialViewport(picture, places, pane.clientWidth, pane.clientHeight));
  }, [setViewport, pane, places, picture]);
}

/** Show the subject again when the pane gets another size, such as when the panel opens, until the user moves the graph. Returns the handler of moves. */
function useRefit(pane: HTMLElement | null, showSubject: () => void): (event: unknown) => void {
  const moved = useRef(false);
  useEffect(() => {
    if (!pane || typeof ResizeObserver === 'undefined') return undefined;
    let width = pane.clientWidth;
    const observer = new ResizeObserver(() => {
      if (pane.clientWidth !== width && !moved.current) showSubject();
      width = pane.clientWidth;
    });
    observer.observe(pane);
    return () => observer.disconnect();
  }, [pane, showSubject]);
  return useCallback((event) => {
    if (event) moved.current = true; // moves by the page have no event
  }, []);
}

/** Move the focus between boxes with the arrow keys, and scroll to a box that is off screen. */
function useArrowKeys(pane: HTMLElement | null, { places, picture }: GraphLayout): (event: KeyboardEvent) => void {
  const { setCenter, getZoom } = useReactFlow();
  return useCallback(
    (event) => {
      const here = (event.target as HTMLElement).closest('.react-flow__node')?.getAttribute('data-id');
      if (!here || !isArrowKey(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      const next = nextBox(here, event.key, places, neighbours(picture));
      const box = places.get(next ?? '');
      if (next === undefined || !box) return;
      const isVisible = () => inPane(pane, find(pane, next));
      if (!isVisible()) void setCenter(box.x + box.width / 2, box.y + Math.min(box.height / 2, 200), { zoom: getZoom() });
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

/** Focus a box, waiting some frames for it: boxes off screen are not in the document. */
function focusSoon(found: () => HTMLElement | null | undefined, frames = 30): void {
  const element = found();
  if (element) element.focus({ preventScroll: true });
  else if (frames) requestAnimationFrame(() => focusSoon(found, frames - 1));
}


function nodesOf({ picture, places }: GraphLayout, opened: ReadonlySet<string>, chosen: string | undefined): TableNode[] {
  const [ins, outs] = degreesOf(picture);
  return picture.tables.flatMap((table) => {
    const box = places.get(table.id);
    if (!box) return [];
    const size = { width: box.width, height: box.height };
    return [{
      id: table.id, type: 'table', selectable: false, position: { x: box.x, y: box.y }, ...size, measured: size,
      handles: [handle('target', Position.Left, 0, box), handle('source', Position.Right, box.width, box)],
      data: { table, open: opened.has(table.id), chosen: table.id === chosen, ins: ins.get(table.id) ?? 0, outs: outs.get(table.id) ?? 0 },
    }]; // prettier-ignore
  });
}

function handle(type: 'source' | 'target', position: Position, x: number, box: Box) {
  return { type, position, x, y: box.height / 2, width: 1, height: 1 };
}

function edgesOf({ picture, routes }: GraphLayout, chosen: string | undefined): LineEdge[] {
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
  const marks = [edge.control && 'control flow', edge.indirect && 'indirect', edge.masked && 'masks', edge.opaque && 'columns unknown', edge.change].filter(Boolean);
  const suffix = marks.length ? ` (${marks.join(', ')})` : '';
  return visible(`From ${names.get(edge.from) ?? ''} ${edge.fromColumn ?? ''} to ${names.get(edge.to) ?? ''} ${edge.toColumn ?? ''}${suffix}`);
}

function LineOfEdge({ data }: EdgeProps<LineEdge>) {
  const onPath = useIsEdgeOnPath(data?.edge.id ?? '');
  if (!data) return null;
  const { edge, line, chosen } = data;
  const marks = [onPath && 'on-path', edge.control && 'control', edge.indirect && 'indirect', edge.masked && 'masked', edge.opaque && 'opaque', edge.change, chosen && 'chosen'];
  return (
    <>
      <BaseEdge path={line.path} className={`line ${marks.filter(Boolean).join(' ')}`} style={{ strokeWidth: 1.3 + Math.min(4, Math.log2(edge.many)) }} interactionWidth={12} />
      {edgeWords(edge) && (
        <EdgeLabelRenderer>
          <span className={`line-label ${marks.filter(Boolean).join(' ')}`} style={{ transform: `translate(-50%, -50%) translate(${line.label.x}px, ${line.label.y}px)` }}>
            {edgeWords(edge)}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
}
