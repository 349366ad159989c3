// One box: a table with its columns, a group, a job, or what is folded.
import { Handle, Position, type Node, type NodeProps } from '@xyflow/react';
import { createContext, useContext } from 'react';

import { count } from '../parts/format';
import { HealthBadge } from './HealthBadge';
import { MASKED_ON_THE_WAY, type PictureColumn, type PictureTable } from './picture';
import { hasFoot, hiddenColumns, shownColumns } from './shape';
import { degrees, headingOf, spoken, subtitleOf } from './words';

export interface Acts {
  onTable: (table: PictureTable) => void;
  onColumn: (table: PictureTable, column: PictureColumn) => void;
  /** What is asked of a column: is it masked everywhere, what breaks without it. */
  onAsk: (table: PictureTable, column: PictureColumn) => void;
  onEdge: (id: string) => void;
  onOpen: (table: PictureTable) => void;
  onFurther: (table: PictureTable, side: 'up' | 'down') => void;
}

export type TableNode = Node<{ table: PictureTable; open: boolean; chosen: boolean; ins: number; outs: number }, 'table'>;

export const ActsContext = createContext<Acts | null>(null);

/** So many neighbours make a box a hub. */
const HUB = 20;

export function TableBox({ data: { table, open, chosen, ins, outs } }: NodeProps<TableNode>) {
  const acts = useContext(ActsContext);
  if (!acts) return null;
  const [said, hub] = [spoken(table, ins, outs), ins + outs < HUB ? '' : degrees(ins, outs)];
  const marks = [table.kind, table.subject && 'subject', table.change, chosen && 'chosen', hub && 'hub', !table.columnLineage && 'bare'];
  return (
    <div className={`node ${marks.filter(Boolean).join(' ')}`}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Handle type="source" position={Position.Right} isConnectable={false} />
      <button type="button" className="node-head nodrag" title={table.members ? said : `${table.namespace}/${table.name}`} aria-label={said} onClick={() => acts.onTable(table)}>
        <bdi className="node-name">{headingOf(table)}</bdi>{' '}
        <bdi className="node-where">{subtitleOf(table)}{hub && `, ${hub}`}</bdi>
      </button>
      <HealthBadge table={table} />
      {shownColumns(table, open).map((column) => <ColumnRow key={column.name} table={table} column={column} acts={acts} />)}
      {hasFoot(table, open) && <button type="button" className="node-more nodrag" onClick={() => acts.onOpen(table)}>{footOf(table, open)}</button>}
      <Further table={table} side="up" many={table.moreUp} acts={acts} />
      <Further table={table} side="down" many={table.moreDown} acts={acts} />
    </div>
  );
}

function footOf(table: PictureTable, open: boolean): string {
  if (table.kind === 'group') return 'Open';
  if (table.kind === 'job') return 'Its page';
  if (table.kind !== 'table') return 'List and filter';
  const hidden = count(hiddenColumns(table, open));
  return !open ? `${hidden} more columns` : hidden === '0' ? 'Fewer columns' : `${hidden} more: list and filter`;
}

function ColumnRow({ table, column, acts }: { table: PictureTable; column: PictureColumn; acts: Acts }) {
  const marks = [column.subject && 'subject', column.change].filter(Boolean).join(' ');
  const said = [column.subject && 'asked', column.maskedOnTheWay && MASKED_ON_THE_WAY, column.change].filter(Boolean).join(', ');
  return (
    <div className="node-row">
      <button
        type="button" className={`node-column nodrag ${marks}`} title={column.name} onClick={() => acts.onColumn(table, column)}
        data-column={column.name} data-distance={column.distance}
      >
        <bdi>{column.name}</bdi>
        {said && <span className="node-mark">{said}</span>}
      </button>
      <button type="button" className="node-ask nodrag" aria-label={`Masked everywhere, and what breaks without ${column.name}?`} title="Is it masked everywhere? What breaks if I drop it?" onClick={() => acts.onAsk(table, column)}>?</button>
    </div>
  );
}

function Further({ table, side, many, acts }: { table: PictureTable; side: 'up' | 'down'; many: number; acts: Acts }) {
  if (!many || table.kind !== 'table') return null;
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
