// A table whose rows are all loaded. TanStack Table sorts and filters them; a button saves them as CSV.
import {
  flexRender, getCoreRowModel, getFilteredRowModel, getSortedRowModel, useReactTable, type ColumnDef, type SortingState,
} from '@tanstack/react-table'; // prettier-ignore
import { useState, type ReactNode } from 'react';

import { Icon } from '../design/Icon';
import { csv, download, fileName } from './csv';
import { count } from './format';
import { Grid, SortMark, type TableColumn } from './Grid';
import { titleNow } from './Page';
import { Empty } from './States';

interface Props<T> {
  name: string;
  rows: readonly T[];
  columns: readonly TableColumn<T>[];
  empty: ReactNode;
  total?: number;
  truncated?: boolean;
}

export const FILTER_FROM = 8;

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
          {truncated && ' · more results exist'}
        </span>
        <button type="button" className="quiet" onClick={save}><Icon name="download" />CSV</button>
      </div>
      <Grid name={name} columns={columns} head={<Head table={table} />} rows={shown.map((row) => row.original)} total={shown.length} />
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
              <SortMark sorted={sorted} />
            </button>
          </div>
        );
      })}
    </div>
  );
}
