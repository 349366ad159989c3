// Every table: sorted and filtered by TanStack Table, only the rows in sight drawn (TanStack Virtual), CSV on demand.
import {
  flexRender, getCoreRowModel, getFilteredRowModel, getSortedRowModel, useReactTable, type ColumnDef, type Row,
  type SortingState,
} from '@tanstack/react-table'; // prettier-ignore
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, useState, type ReactNode } from 'react';

import { csv, download, fileName } from './csv';
import { count } from './format';
import { titleNow } from './Page';
import { Empty } from './States';

export interface TableColumn<T> {
  id: string;
  title: string;
  /** What is sorted, filtered and exported. */
  value: (row: T) => string | number | null | undefined;
  show?: (row: T) => ReactNode;
  /** A CSS grid track. */
  width?: string;
}

interface Props<T> {
  name: string;
  rows: readonly T[];
  columns: readonly TableColumn<T>[];
  empty: ReactNode;
  total?: number;
  truncated?: boolean;
}

const ROW_PX = 34;
const FILTER_FROM = 8;

export function DataTable<T>({ name, rows, columns, empty, total, truncated }: Props<T>) {
  const [sorting, setSorting] = useState<SortingState>([]);
  const [filter, setFilter] = useState('');
  const table = useReactTable({
    data: rows as T[],
    columns: columns.map(definition),
    state: { sorting, globalFilter: filter },
    onSortingChange: setSorting,
    onGlobalFilterChange: setFilter,
    globalFilterFn: 'includesString',
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
    getFilteredRowModel: getFilteredRowModel(),
  });
  const shown = table.getRowModel().rows;
  const save = () => {
    const lines = shown.map((row) => columns.map((column) => column.value(row.original)));
    download(fileName([titleNow(), name], new Date(), 'csv'), new Blob([csv([columns.map((each) => each.title), ...lines])], { type: 'text/csv' }));
  };
  if (!rows.length) return <Empty>{empty}</Empty>;
  return (
    <div className="data-table">
      <div className="table-tools">
        {rows.length >= FILTER_FROM && (
          <input
            type="search" className="filter" placeholder="Filter" aria-label={`Filter ${name}`}
            value={filter} onChange={(event) => setFilter(event.target.value)}
          />
        )}
        <span className="count" role="status">
          {counted(shown.length, total ?? rows.length)}
          {truncated && ' · there is more than is shown'}
        </span>
        <button type="button" className="quiet" onClick={save}>CSV</button>
      </div>
      <Grid name={name} columns={columns} head={<Head table={table} />} rows={shown} />
    </div>
  );
}

function counted(shown: number, total: number): string {
  return shown === total ? count(total) : `${count(shown)} of ${count(total)}`;
}

function definition<T>(column: TableColumn<T>): ColumnDef<T> {
  return {
    id: column.id,
    header: column.title,
    accessorFn: (row) => column.value(row) ?? '',
    cell: ({ row, getValue }) => (column.show ? column.show(row.original) : <bdi>{String(getValue())}</bdi>),
  };
}

function Head<T>({ table }: { table: ReturnType<typeof useReactTable<T>> }) {
  return (
    <div role="row" aria-rowindex={1} className="tr head">
      {table.getFlatHeaders().map((header) => {
        const sorted = header.column.getIsSorted();
        return (
          <div key={header.id} role="columnheader" className="td" aria-sort={sorted ? `${sorted}ending` : 'none'}>
            <button type="button" onClick={header.column.getToggleSortingHandler()}>
              {flexRender(header.column.columnDef.header, header.getContext())}
              <span aria-hidden="true">{sorted === 'asc' ? ' ↑' : sorted === 'desc' ? ' ↓' : ''}</span>
            </button>
          </div>
        );
      })}
    </div>
  );
}

interface GridProps<T> {
  name: string;
  columns: readonly TableColumn<T>[];
  head: ReactNode;
  rows: Row<T>[];
}

function Grid<T>({ name, columns, head, rows }: GridProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length, getScrollElement: () => box.current, estimateSize: () => ROW_PX, overscan: 8,
    getItemKey: (index) => rows[index]?.id ?? index,
  }); // prettier-ignore
  const tracks = columns.map((column) => column.width ?? 'minmax(8rem, 1fr)').join(' ');
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
    <div ref={box} className="grid" role="table" aria-label={name} aria-rowcount={rows.length + 1} tabIndex={0}>
      <div className="grid-inner" style={{ '--tracks': tracks } as React.CSSProperties} role="presentation">
        <div role="rowgroup" className="thead">{head}</div>
        <div role="rowgroup" className="tbody" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => (
            <div
              key={item.key} ref={virtual.measureElement} data-index={item.index} role="row" className="tr"
              aria-rowindex={item.index + 2} style={{ transform: `translateY(${item.start}px)` }}
            >
              {rows[item.index]?.getVisibleCells().map((cell) => (
                <div key={cell.id} role="cell" className="td">
                  {flexRender(cell.column.columnDef.cell, cell.getContext())}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
