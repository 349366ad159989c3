// A list from the API. The server filters, sorts and counts; scrolling loads more rows; the CSV contains all rows.
import { useRef, useState, type ReactNode } from 'react';

import { everyItem, useList, type Item, type List, type ListQuestion } from '../api/lists';
import type { QuestionParameters } from '../api/client';
import { Icon } from '../design/Icon';
import { csv, download, fileName } from './csv';
import { FILTER_FROM } from './DataTable';
import { count } from './format';
import { Grid, SortMark, type TableColumn } from './Grid';
import { titleNow } from './Page';
import { Empty, Failure, Loading } from './States';
import { useAddressState, type AddressState } from './useAddressState';

export interface ListColumn<T> extends TableColumn<T> {
  /** The value of the API parameter `sort`. Without it, users cannot sort by this column. */
  sort?: string;
  /** Whether the first click sorts in descending order. */
  down?: boolean;
}

interface Props<N extends ListQuestion> {
  question: N;
  /** The parameters of the question, without the filter and the sort order of the table, which are in the address. */
  parameters?: QuestionParameters<N>;
  /** The sort order if the address has none. */
  usual: string;
  columns: readonly ListColumn<Item<N>>[];
  /** The text for an empty list; it may depend on the answer. */
  empty: ReactNode | ((list: NonNullable<List<N>['first']>) => ReactNode);
  /** Prefix of the list's address parameters, for pages with two lists. */
  prefix?: string;
  /** Whether the list has a text filter. Search results have none. */
  filtered?: boolean;
  /** Content shown instead of an error that the page can explain. */
  insteadOfError?: (error: Error) => ReactNode;
  /** Content above the table, from the other parts of the answer. */
  children?: (list: NonNullable<List<N>['first']>, items: readonly Item<N>[]) => ReactNode;
}

export function ListTable<N extends ListQuestion>({ question, parameters, usual, columns, empty, prefix = '', filtered = true, insteadOfError, children }: Props<N>) {
  const state = useAddressState();
  const text = filtered ? state.get(`${prefix}text`) : '';
  const sort = state.get(`${prefix}sort`);
  const list = useList(question, { ...parameters, ...(text && { text }), ...(sort && { sort }) } as QuestionParameters<N>);
  const { first, items } = list;
  const total = first?.totalCount ?? 0;
  const replacement = list.error && insteadOfError?.(list.error);
  if (replacement) return replacement;
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
            {first.truncated && first.next === null && ' · more results exist'}
          </span>
          {total > 0 && <Save list={list} columns={columns} total={total} />}
        </div>
        {total > 0 ? (
          <Grid name={question} columns={columns} rows={items} total={total} more={list.more} head={<Head columns={columns} sort={sort || usual} state={state} name={`${prefix}sort`} />} />
        ) : <Empty>{text ? <>No name contains <bdi>“{text}”</bdi>.</> : typeof empty === 'function' ? empty(first) : empty}</Empty>}
      </div>
    </>
  );
}

interface HeadProps<T> {
  columns: readonly ListColumn<T>[];
  sort: string;
  state: AddressState;
  /** The address parameter of the sort order. */
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
            <button type="button" onClick={() => state.set({ [name]: nextSort(column, sorted) }, true)}>
              {column.title}<SortMark sorted={sorted} />
            </button>
          </div>
        );
      })}
    </div>
  );
}

function nextSort<T>(column: ListColumn<T>, sorted: false | 'asc' | 'desc'): string {
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
      for await (const items of everyItem(list.question, list.parameters, signal)) {
        lines.push(...items.map((item) => columns.map((column) => column.value(item))));
        setSaved(lines.length - 1);
      }
      download(fileName([titleNow(), list.question], new Date(), 'csv'), new Blob([csv(lines)], { type: 'text/csv' }));
    } catch (fault) {
      if (!signal.aborted) setError(fault as Error);
    }
    setSaved(undefined);
  };
  if (saved !== undefined) return <button type="button" className="quiet" onClick={() => stopping.current?.abort()}>Stop ({count(saved)} of {count(total)} rows loaded)</button>;
  return (
    <>
      <button type="button" className="quiet" onClick={() => void save()}><Icon name="download" />CSV</button>
      {error && <Failure error={error} />}
    </>
  );
}
