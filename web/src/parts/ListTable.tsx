// A list of the API: filtered and sorted by Headwater, which also counts; further rows come as one scrolls, a CSV has all.
import { useRef, useState, type ReactNode } from 'react';

import { everyItem, useList, type Item, type List, type ListQuestion } from '../api/lists';
import type { Asked } from '../api/client';
import { csv, download, fileName } from './csv';
import { FILTER_FROM } from './DataTable';
import { count } from './format';
import { Grid, SortMark, type TableColumn } from './Grid';
import { titleNow } from './Page';
import { Empty, Failure, Loading } from './States';
import { useAddressState, type AddressState } from './useAddressState';

export interface ListColumn<T> extends TableColumn<T> {
  /** What the API calls it as `sort`; without it the list cannot be sorted by it. */
  sort?: string;
  /** The greatest comes first where it is sorted by for the first time. */
  down?: boolean;
}

interface Props<N extends ListQuestion> {
  question: N;
  /** What the page asks with; filter and sort of the table are in the address. */
  asked?: Asked<N>;
  /** How it is sorted where the address says nothing. */
  usual: string;
  columns: readonly ListColumn<Item<N>>[];
  /** What stands where nothing is listed, perhaps by what else the answer says. */
  empty: ReactNode | ((list: NonNullable<List<N>['first']>) => ReactNode);
  /** Tells the parameters of two lists on one page apart. */
  prefix?: string;
  /** Whether it can be narrowed to a text: what was searched for is. */
  filtered?: boolean;
  /** What stands for an error, if this one is none to the page. */
  instead?: (error: Error) => ReactNode;
  /** What the answer says beside its items, above the table. */
  children?: (list: NonNullable<List<N>['first']>, items: readonly Item<N>[]) => ReactNode;
}

export function ListTable<N extends ListQuestion>({ question, asked, usual, columns, empty, prefix = '', filtered = true, instead, children }: Props<N>) {
  const state = useAddressState();
  const text = filtered ? state.get(`${prefix}text`) : '';
  const sort = state.get(`${prefix}sort`);
  const list = useList(question, { ...asked, ...(text && { text }), ...(sort && { sort }) } as Asked<N>);
  const { first, items } = list;
  const total = first?.totalCount ?? 0;
  const said = list.error && instead?.(list.error);
  if (said) return said;
  if (!first) return list.error ? <Failure error={list.error} /> : <Loading />;
  return (
    <>
      {list.error && <Failure error={list.error} />}
      {children?.(first, items)}
      <div className="data-table">
        <div className="table-tools">
          {filtered && (text || total >= FILTER_FROM) && (
            <input
              type="search" className="filter" placeholder="Filter" aria-label={`Filter ${question}`}
              value={text} onChange={(event) => state.set({ [`${prefix}text`]: event.target.value }, true)}
            />
          )}
          <span className="count" role="status">
            {total > 0 && count(total)}
            {first.truncated && first.next === null && ' · there is more than is shown'}
          </span>
          {total > 0 && <Save list={list} columns={columns} total={total} />}
        </div>
        {total > 0 ? (
          <Grid name={question} columns={columns} rows={items} total={total} more={list.more} head={<Head columns={columns} sort={sort || usual} state={state} name={`${prefix}sort`} />} />
        ) : <Empty>{text ? <>Nothing here has <bdi>“{text}”</bdi> in a name.</> : typeof empty === 'function' ? empty(first) : empty}</Empty>}
      </div>
    </>
  );
}

interface HeadProps<T> {
  columns: readonly ListColumn<T>[];
  sort: string;
  state: AddressState;
  /** Of the parameter of the address. */
  name: string;
}

function Head<T>({ columns, sort, state, name }: HeadProps<T>) {
  return (
    <div role="row" aria-rowindex={1} className="tr head">
      {columns.map((column) => {
        const sorted = column.sort !== undefined && sort.replace(/^-/, '') === column.sort && (sort.startsWith('-') ? 'desc' : 'asc');
        if (column.sort === undefined) return <div key={column.id} role="columnheader" className="td"><span className="plain-head">{column.title}</span></div>;
        return (
          <div key={column.id} role="columnheader" className="td" aria-sort={sorted ? `${sorted}ending` : 'none'}>
            <button type="button" onClick={() => state.set({ [name]: turned(column, sorted) }, true)}>
              {column.title}<SortMark sorted={sorted} />
            </button>
          </div>
        );
      })}
    </div>
  );
}

function turned<T>(column: ListColumn<T>, sorted: false | 'asc' | 'desc'): string {
  const down = sorted ? sorted === 'asc' : column.down;
  return `${down ? '-' : ''}${column.sort ?? ''}`;
}

function Save<N extends ListQuestion>({ list, columns, total }: { list: List<N>; columns: readonly ListColumn<Item<N>>[]; total: number }) {
  const [saved, setSaved] = useState<number>();
  const [error, setError] = useState<Error>();
  const stopping = useRef<AbortController>(null);
  const save = async () => {
    const { signal } = (stopping.current = new AbortController());
    const lines: unknown[][] = [columns.map((column) => column.title)];
    setError(undefined);
    try {
      for await (const items of everyItem(list.question, list.asked, signal)) {
        lines.push(...items.map((item) => columns.map((column) => column.value(item))));
        setSaved(lines.length - 1);
      }
      download(fileName([titleNow(), list.question], new Date(), 'csv'), new Blob([csv(lines)], { type: 'text/csv' }));
    } catch (fault) {
      if (!signal.aborted) setError(fault as Error);
    }
    setSaved(undefined);
  };
  if (saved !== undefined) return <button type="button" className="quiet" onClick={() => stopping.current?.abort()}>{count(saved)} of {count(total)} read; stop</button>;
  return (
    <>
      <button type="button" className="quiet" onClick={() => void save()}>CSV</button>
      {error && <Failure error={error} />}
    </>
  );
}
