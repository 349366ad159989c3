// Lists, a page at a time: what is in sight is asked for, and a file of all of it page by page.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';

import { ask, type Answer, type Asked, type Question, type Schemas } from './client';

interface PageOfList {
  items: readonly unknown[];
  totalCount: number;
  truncated: boolean;
  next: string | null;
  /** Of `unused`: the readers of each dataset once; an item has the position of its own. */
  readers?: readonly { jobs: readonly Schemas['Job'][]; unread: readonly Schemas['JobUnread'][] }[];
}

/** The questions whose answers come a page at a time. */
export type ListQuestion = { [N in Question]: Answer<N> extends PageOfList ? N : never }[Question];
export type Item<N extends ListQuestion> = (Answer<N> extends { items: readonly (infer Row)[] } ? Row : never) & (N extends 'unused' ? { dataset_readers: readonly Schemas['Job'][]; dataset_unread: readonly Schemas['JobUnread'][] } : unknown);

export interface List<N extends ListQuestion> {
  question: N;
  asked: Asked<N>;
  /** The newest answer to the first page, which has what the question says beside its items. */
  first: (Answer<N> & PageOfList) | undefined;
  items: readonly Item<N>[];
  error: Error | null;
  /** Ask for the next page; nothing where there is none, or while one is on its way. */
  more: () => void;
}

const IN_SIGHT = 200;
const IN_FILE = 1_000;
const MOST: Partial<Record<ListQuestion, number>> = { search: 60 };

export function useList<N extends ListQuestion>(question: N, asked: Asked<N>): List<N> {
  const query = useInfiniteQuery({
    queryKey: [question, asked, 'pages'],
    queryFn: ({ pageParam, signal }) => ask(question, paged(question, asked, pageParam, IN_SIGHT), signal),
    initialPageParam: '',
    getNextPageParam: (last: Answer<N>) => (last as PageOfList).next ?? undefined,
    placeholderData: keepPreviousData,
  });
  const pages = query.data?.pages ?? [];
  return {
    question, asked, first: pages[0] as List<N>['first'], error: query.error,
    items: pages.flatMap((page) => itemsOf<N>(page as PageOfList)),
    more: () => {
      if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
    },
  }; // prettier-ignore
}

/** Yield all items, as they are when each page is asked for. */
export async function* everyItem<N extends ListQuestion>(question: N, asked: Asked<N>, signal: AbortSignal): AsyncGenerator<Item<N>[]> {
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = (await ask(question, paged(question, asked, cursor, IN_FILE), signal)) as PageOfList;
    yield itemsOf<N>(page);
    cursor = page.next;
  }
}

/** Positions of readers hold for one page, so each item gets its readers before pages are joined. */
function itemsOf<N extends ListQuestion>({ items, readers }: PageOfList): Item<N>[] {
  if (!readers) return items as Item<N>[];
  return (items as { readers: number }[]).map((item) => ({ ...item, dataset_readers: readers[item.readers]?.jobs ?? [], dataset_unread: readers[item.readers]?.unread ?? [] })) as unknown as Item<N>[];
}

function paged<N extends ListQuestion>(question: N, asked: Asked<N>, cursor: string, limit: number): Asked<N> {
  return { ...asked, cursor, limit: Math.min(limit, MOST[question] ?? limit) };
}
