// A picture on the screen: boxes as buttons for the keyboard, edges that end at the rows of their columns.
import '@xyflow/react/dist/base.css';

import {
  BaseEdge, Controls, EdgeLabelRenderer, getBezierPath, getViewportForBounds, Handle, MiniMap, Position, ReactFlow, ReactFlowProvider,
  useReactFlow,
  type Edge, type EdgeProps, type Node, type NodeProps,
} from '@xyflow/react'; // prettier-ignore
import { createContext, memo, useContext, useEffect, useMemo, useRef, useState } from 'react';

import { count } from '../parts/format';
import { shortName } from '../parts/links';
import { visible } from '../shown/odd';
import { HealthBadge } from './HealthBadge';
import { edgeWords, MASKED_ON_THE_WAY, subtitle, type PictureColumn, type PictureEdge, type PictureTable } from './picture';
import { hiddenColumns, portY, shownColumns, type Box } from './shape';
import type { Laid } from './useLayout';

export interface Acts {
  onTable: (table: PictureTable) => void;
  onColumn: (table: PictureTable, column: PictureColumn) => void;
  onEdge: (id: string) => void;
  onOpen: (table: PictureTable) => void;
  onFurther: (table: PictureTable, side: 'up' | 'down') => void;
}

type TableNode = Node<{ table: PictureTable; open: boolean; chosen: boolean }, 'table'>;
type LineEdge = Edge<{ edge: PictureEdge; from: Point; to: Point; chosen: boolean }, 'line'>;
interface Point {
  x: number;
  y: number;
}

const ActsContext = createContext<Acts | null>(null);
const NODES = { table: memo(TableBox) };
const EDGES = { line: memo(Line) };

interface Props {
  laid: Laid;
  opened: ReadonlySet<string>;
  chosen: string | undefined;
  acts: Acts;
  /** What the view is about: another one is fitted into sight. */
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
  const nodes = useMemo(() => nodesOf(laid, opened, chosen), [laid, opened, chosen]);
  const edges = useMemo(() => edgesOf(laid, opened, chosen), [laid, opened, chosen]);
  const rows = laid.picture.tables.reduce((sum, table) => sum + 1 + shownColumns(table, opened.has(table.id)).length, 0);
  const nodesShown = useRevealed(nodes, Math.max(1, Math.floor((ROWS_A_FRAME * nodes.length) / rows)));
  const edgesShown = useRevealed(nodesShown === nodes ? edges : NO_EDGES, EDGES_A_FRAME);
  const { setViewport } = useReactFlow();
  const pane = useRef<HTMLDivElement>(null);
  const placed = laid.places;
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const { clientWidth = 0, clientHeight = 0 } = pane.current ?? {};
      if (placed.size) void setViewport(getViewportForBounds(boundsOf(placed), clientWidth, clientHeight, MIN_ZOOM, FIT.maxZoom, FIT.padding));
    });
    return () => cancelAnimationFrame(frame);
  }, [setViewport, about, placed]);
  return (
    <ReactFlow<TableNode, LineEdge>
      ref={pane}
      nodes={nodesShown as TableNode[]} edges={edgesShown as LineEdge[]} data-drawn={nodesShown === nodes && edgesShown === edges} nodeTypes={NODES} edgeTypes={EDGES} minZoom={MIN_ZOOM} maxZoom={2} onlyRenderVisibleElements
      nodesDraggable={false} nodesConnectable={false} nodesFocusable={false} edgesFocusable
      onEdgesChange={(changes) => changes.forEach((change) => change.type === 'select' && change.selected && acts.onEdge(change.id))} proOptions={{ hideAttribution: true }}
      aria-label={`Graph of ${count(nodes.length)} tables and ${count(edges.length)} edges`}
    >
      <Controls showInteractive={false} fitViewOptions={FIT} />
      <MiniMap pannable zoomable style={MINI} nodeClassName={miniClass} ariaLabel="Map of the whole graph" />
    </ReactFlow>
  );
}

const MIN_ZOOM = 0.03;
const FIT = { maxZoom: 1, padding: 0.08 };

/** All that is laid out, drawn yet or not. */
function boundsOf(places: Laid['places']): Box {
  const boxes = [...places.values()];
  const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  return {
    x, y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
  }; // prettier-ignore
}

const NO_EDGES: LineEdge[] = [];
const [ROWS_A_FRAME, EDGES_A_FRAME] = [60, 40];

/** Give more of a long list with each frame, so that a large graph is not drawn in one go; an empty canvas comes first. */
function useRevealed<T>(items: readonly T[], step: number): readonly T[] {
  const [many, setMany] = useState(0);
  useEffect(() => {
    if (many >= items.length) return undefined;
    const frame = requestAnimationFrame(() => setMany((before) => before + step));
    return () => cancelAnimationFrame(frame);
  }, [many, items.length, step]);
  return many >= items.length ? items : items.slice(0, many);
}

const MINI = { width: 140, height: 96 };

const miniClass = ({ data }: TableNode): string => (data.table.subject ? 'mini subject' : `mini ${data.table.change ?? ''}`);

function nodesOf({ picture, places }: Laid, opened: ReadonlySet<string>, chosen: string | undefined): TableNode[] {
  return picture.tables.flatMap((table) => {
    const box = places.get(table.id);
    if (!box) return [];
    const size = { width: box.width, height: box.height };
    return [{
      id: table.id, type: 'table', selectable: false, position: { x: box.x, y: box.y }, ...size, measured: size,
      handles: [handle('target', Position.Left, 0, box), handle('source', Position.Right, box.width, box)],
      data: { table, open: opened.has(table.id), chosen: table.id === chosen },
    }]; // prettier-ignore
  });
}

function handle(type: 'source' | 'target', position: Position, x: number, box: Box) {
  return { type, position, x, y: box.height / 2, width: 1, height: 1 };
}

function edgesOf({ picture, places }: Laid, opened: ReadonlySet<string>, chosen: string | undefined): LineEdge[] {
  const tables = new Map(picture.tables.map((table) => [table.id, table]));
  return picture.edges.flatMap((edge) => {
    const [from, to] = [tables.get(edge.from), tables.get(edge.to)];
    const [start, end] = [places.get(edge.from), places.get(edge.to)];
    if (!from || !to || !start || !end) return [];
    return [{
      id: edge.id, type: 'line', source: edge.from, target: edge.to, ariaLabel: edgeLabel(edge, from, to),
      data: {
        edge, chosen: edge.id === chosen,
        from: { x: start.x + start.width, y: start.y + portY(from, opened.has(from.id), edge.fromColumn) },
        to: { x: end.x, y: end.y + portY(to, opened.has(to.id), edge.toColumn) },
      },
    }]; // prettier-ignore
  });
}

function edgeLabel(edge: PictureEdge, from: PictureTable, to: PictureTable): string {
  const marks = [edge.indirect && 'indirect', edge.masked && 'masks', edge.opaque && 'without columns', edge.change].filter(Boolean);
  const said = marks.length ? ` (${marks.join(', ')})` : '';
  return visible(`From ${shortName(from.name)} ${edge.fromColumn ?? ''} to ${shortName(to.name)} ${edge.toColumn ?? ''}${said}`);
}

function Line({ data }: EdgeProps<LineEdge>) {
  if (!data) return null;
  const { edge, from, to, chosen } = data;
  const [path, x, y] = edge.from === edge.to ? loop(from, to) : curve(from, to);
  const marks = [edge.indirect && 'indirect', edge.masked && 'masked', edge.opaque && 'opaque', edge.change, chosen && 'chosen'];
  return (
    <>
      <BaseEdge path={path} className={`line ${marks.filter(Boolean).join(' ')}`} strokeWidth={1.3 + Math.min(4, Math.log2(edge.many))} interactionWidth={12} />
      {edgeWords(edge) && (
        <EdgeLabelRenderer>
          <span className={`line-label ${edge.change ?? ''}`} style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}>
            {edgeWords(edge)}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
}

function curve(from: Point, to: Point): [string, number, number] {
  const ends = { sourceX: from.x, sourceY: from.y, targetX: to.x, targetY: to.y };
  const [path, x, y] = getBezierPath({ ...ends, sourcePosition: Position.Right, targetPosition: Position.Left });
  return [path, x, y];
}

/** An edge from a table to itself, as MERGE makes them: a bow at its right side. */
function loop(from: Point, to: Point): [string, number, number] {
  const bow = 34;
  return [`M${from.x},${from.y} C${from.x + bow},${from.y - 14} ${from.x + bow},${to.y + 14} ${from.x},${to.y + 1}`, from.x + bow, from.y];
}

function TableBox({ data: { table, open, chosen } }: NodeProps<TableNode>) {
  const acts = useContext(ActsContext);
  if (!acts) return null;
  const hidden = hiddenColumns(table, open);
  const marks = [table.kind, table.subject && 'subject', table.change, chosen && 'chosen', !table.columnLineage && 'bare'];
  return (
    <div className={`node ${marks.filter(Boolean).join(' ')}`}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Handle type="source" position={Position.Right} isConnectable={false} />
      <button type="button" className="node-head nodrag" title={`${table.namespace}/${table.name}`} onClick={() => acts.onTable(table)}>
        <bdi className="node-name">{shortName(table.name) || table.namespace}</bdi>
        <bdi className="node-where">{subtitle(table)}</bdi>
        <HealthBadge table={table} />
      </button>
      {shownColumns(table, open).map((column) => <ColumnRow key={column.name} table={table} column={column} acts={acts} />)}
      {table.kind === 'group' ? (
        <button type="button" className="node-more nodrag" onClick={() => acts.onOpen(table)}>Open</button>
      ) : (
        (hidden > 0 || open) && (
          <button type="button" className="node-more nodrag" onClick={() => acts.onOpen(table)}>
            {open ? 'Fewer columns' : `${count(hidden)} more columns`}
          </button>
        )
      )}
      <Further table={table} side="up" many={table.moreUp} acts={acts} />
      <Further table={table} side="down" many={table.moreDown} acts={acts} />
    </div>
  );
}

function ColumnRow({ table, column, acts }: { table: PictureTable; column: PictureColumn; acts: Acts }) {
  const marks = [column.subject && 'subject', column.change].filter(Boolean).join(' ');
  const said = [column.subject && 'the asked column', column.maskedOnTheWay && MASKED_ON_THE_WAY, column.change].filter(Boolean).join(', ');
  return (
    <button
      type="button" className={`node-column nodrag ${marks}`} title={column.name} onClick={() => acts.onColumn(table, column)}
      data-column={column.name} data-distance={column.distance}
    >
      <bdi>{column.name}</bdi>
      {said && <span className="node-mark">{said}</span>}
    </button>
  );
}

function Further({ table, side, many, acts }: { table: PictureTable; side: 'up' | 'down'; many: number; acts: Acts }) {
  if (!many || table.kind === 'group') return null;
  const where = side === 'up' ? 'that feed it' : 'that it feeds';
  return (
    <button
      type="button" className={`node-further nodrag ${side}`} onClick={() => acts.onFurther(table, side)}
      aria-label={`Show ${count(many)} more tables ${where}`} title={`${count(many)} more ${where}`}
    >
      +{count(many)}
    </button>
  );
}
