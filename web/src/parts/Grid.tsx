// The rows of a table. Only visible rows are rendered (TanStack Virtual).
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, type CSSProperties, type ReactNode } from 'react';

export interface TableColumn<T> {
  id: string;
  title: string;
  /** The value for CSV export, and for sorting and filtering if all rows are loaded. */
  value: (row: T) => string | number | null | undefined;
  show?: (row: T) => ReactNode;
  /** A CSS grid track. */
  width?: string;
}

interface Props<T> {
  name: string;
  columns: readonly TableColumn<T>[];
  head: ReactNode;
  rows: readonly T[];
  /** The number of rows, including rows that are not loaded yet. */
  total: number;
  /** Called when the last rows become visible. */
  more?: () => void;
}

const ROW_PX = 34;
const BEFORE_THE_END = 30;

export function Grid<T>({ name, columns, head, rows, total, more }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => ROW_PX, overscan: 8 });
  const tracks = columns.map((column) => column.width ?? 'minmax(8rem, 1fr)').join(' ');
  const drawn = virtual.getVirtualItems();
  const isNearEnd = rows.length < total && (drawn.at(-1)?.index ?? 0) >= rows.length - BEFORE_THE_END;
  useEffect(() => {
    if (isNearEnd) more?.();
  }, [isNearEnd, more]);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll it
    <div ref={box} className="grid" role="table" aria-label={name} aria-rowcount={total + 1} tabIndex={0}>
      <div className="grid-inner" style={{ '--tracks': tracks } as CSSProperties} role="presentation">
        <div role="rowgroup" className="thead">{head}</div>
        <div role="rowgroup" className="tbody" style={{ height: virtual.getTotalSize() }}>
          {drawn.map((item) => (
            <div
              key={item.key} ref={virtual.measureElement} data-index={item.index} role="row" className="tr"
              aria-rowindex={item.index + 2} style={{ transform: `translateY(${item.start}px)` }}
            >
              {columns.map((column) => <div key={column.id} role="cell" className="td">{cell(column, rows[item.index])}</div>)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function cell<T>(column: TableColumn<T>, row: T | undefined): ReactNode {
  if (row === undefined) return null;
  return column.show ? column.show(row) : <bdi>{column.value(row) ?? ''}</bdi>;
}

export function SortMark({ sorted }: { sorted: false | 'asc' | 'desc' }) {
  return <span aria-hidden="true">{sorted === 'asc' ? ' ↑' : sorted === 'desc' ? ' ↓' : ''}</span>;
}
