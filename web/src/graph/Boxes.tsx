// One box of the graph: a table with its columns, a group, a job, or a stack of folded boxes.
import { Handle, Position, type Node, type NodeProps } from '@xyflow/react';
import { createContext, useContext } from 'react';

import { count } from '../parts/format';
import { ExposureContext } from './exposure';
import { columnKey, exposureWord } from './exposureKeys';
import { Icon } from '../design/Icon';
import { ColourBadge } from './ColourBadge';
import { HealthBadge } from './HealthBadge';
import { endKey, HighlightContext, useIsEndOnPath } from './highlight';
import { layerOf } from './layer';
import { systemIcon } from './systems';
import { MASKED_ON_THE_WAY, type PictureColumn, type PictureTable } from './picture';
import { hasFoot, hiddenColumns, shownColumns } from './shape';
import { accessibleName, degrees, headingOf, shortSubtitleOf } from './words';

export interface GraphActions {
  onTable: (table: PictureTable) => void;
  onColumn: (table: PictureTable, column: PictureColumn) => void;
  /** Show the answers about a column: how it is computed, where it is readable, and whether it can be dropped. */
  onAsk: (table: PictureTable, column: PictureColumn) => void;
  onEdge: (id: string) => void;
  onOpen: (table: PictureTable) => void;
  onFurther: (table: PictureTable, side: 'up' | 'down') => void;
}

export type TableNode = Node<{ table: PictureTable; open: boolean; chosen: boolean; ins: number; outs: number }, 'table'>;

export const GraphActionsContext = createContext<GraphActions | null>(null);

/** The namespace that all tables of the graph share; empty if there are several. */
export const NamespaceContext = createContext('');

/** A box with this many neighbours shows their number. */
const HUB = 20;

export function TableBox({ data: { table, open, chosen, ins, outs } }: NodeProps<TableNode>) {
  const [actions, namespace] = [useContext(GraphActionsContext), useContext(NamespaceContext)];
  const onPath = useIsEndOnPath(endKey(table.id));
  const highlight = useContext(HighlightContext);
  if (!actions) return null;
  const [name, hub] = [accessibleName(table, namespace, ins, outs), ins + outs < HUB ? '' : degrees(ins, outs)];
  const layer = table.kind === 'table' || table.kind === 'group' ? layerOf(table.kind === 'group' ? `${table.name}/` : table.name) : undefined;
  const marks = [table.kind, layer && `has-layer is-${layer}`, onPath && 'on-path', table.subject && 'subject', table.change, chosen && 'chosen', hub && 'hub', !table.columnLineage && 'bare'];
  return (
    <div className={`node ${marks.filter(Boolean).join(' ')}`}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Handle type="source" position={Position.Right} isConnectable={false} />
      <button type="button" className="node-head nodrag" title={table.members ? name : `${table.namespace}/${table.name}`} aria-label={name} onClick={() => actions.onTable(table)} onPointerEnter={() => highlight?.show(endKey(table.id))} onPointerLeave={() => highlight?.show(undefined)}>
        <span className="node-title"><Icon name={systemIcon(table)} size={14} /><bdi className="node-name">{headingOf(table)}</bdi></span>{' '}
        <bdi className="node-where">{shortSubtitleOf(table, namespace)}{hub && `, ${hub}`}</bdi>
      </button>
      <ColourBadge table={table} />
      <HealthBadge table={table} />
      {shownColumns(table, open).map((column) => <ColumnRow key={column.name} table={table} column={column} actions={actions} />)}
      {hasFoot(table, open) && <button type="button" className="node-more nodrag" onClick={() => actions.onOpen(table)}>{footOf(table, open)}</button>}
      <Further table={table} side="up" many={table.moreUp} actions={actions} />
      <Further table={table} side="down" many={table.moreDown} actions={actions} />
    </div>
  );
}

function footOf(table: PictureTable, open: boolean): string {
  if (table.kind === 'group') return 'Open';
  if (table.kind === 'job') return 'Open job';
  if (table.kind !== 'table') return 'List';
  const hidden = count(hiddenColumns(table, open));
  return !open ? `${hidden} more columns` : hidden === '0' ? 'Fewer columns' : `List ${hidden} more`;
}

function ColumnRow({ table, column, actions }: { table: PictureTable; column: PictureColumn; actions: GraphActions }) {
  const exposure = useContext(ExposureContext).get(columnKey(table.id, column.name));
  const [highlight, onPath] = [useContext(HighlightContext), useIsEndOnPath(endKey(table.id, column.name))];
  const show = () => highlight?.show(endKey(table.id, column.name));
  const hide = () => highlight?.show(undefined);
  const marks = [onPath && 'on-path', column.subject && 'subject', column.change, exposure && `is-${exposure.kind}`].filter(Boolean).join(' ');
  const masked = !exposure && column.maskedOnTheWay;
  const label = [exposure && exposureWord(exposure.kind), masked && 'masked', column.change].filter(Boolean).join(', ');
  const title = [column.name, exposure?.tagged && 'tagged as personal data', masked && MASKED_ON_THE_WAY].filter(Boolean).join(', ');
  return (
    <div className="node-row">
      <button
        type="button" className={`node-column nodrag ${marks}`} title={title} aria-current={column.subject || undefined} onClick={() => actions.onColumn(table, column)}
        data-column={column.name} data-distance={column.distance} onPointerEnter={show} onPointerLeave={hide} onFocus={show} onBlur={hide}
      >
        <bdi>{column.name}</bdi>
        {label && <span className="node-mark">{label}{masked && <span className="sr"> on the way</span>}</span>}
      </button>
      <button type="button" className="node-ask nodrag" aria-label={`Questions about ${column.name}`} title="Where is it readable? Can it be dropped?" onClick={() => actions.onAsk(table, column)}>⋯</button>
    </div>
  );
}

function Further({ table, side, many, actions }: { table: PictureTable; side: 'up' | 'down'; many: number; actions: GraphActions }) {
  if (!many || table.kind !== 'table') return null;
  const where = side === 'up' ? 'upstream' : 'downstream';
  return (
    <button
      type="button" className={`node-further nodrag ${side}`} onClick={() => actions.onFurther(table, side)}
      aria-label={`Show ${count(many)} more tables ${where}`} title={`${count(many)} more ${where}`}
    >
      +{count(many)}
    </button>
  );
}
