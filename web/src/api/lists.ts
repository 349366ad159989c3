// Paged lists. Scrolling a table loads further pages; an export loads all pages, one after another.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';

import { ask, type Answer, type QuestionParameters, type Question, type Schemas } from './client';

interface PageOfList {
  items: readonly unknown[];
  totalCount: number;
  truncated: boolean;
  next: string | null;
  /** Only in the answer of `unused`: the readers of each dataset. Items refer to an entry by its position. */
  readers?: readonly { jobs: readonly Schemas['Job'][]; unread: readonly Schemas['JobUnread'][] }[];
}

/** The questions whose answers have pages. */
export type ListQuestion = { [N in Question]: Answer<N> extends PageOfList ? N : never }[Question];
export type Item<N extends ListQuestion> = (Answer<N> extends { items: readonly (infer Row)[] } ? Row : never) & (N extends 'unused' ? { dataset_readers: readonly Schemas['Job'][]; dataset_unread: readonly Schemas['JobUnread'][] } : unknown);

export interface List<N extends ListQuestion> {
  question: N;
  parameters: QuestionParameters<N>;
  /** The first page. Only this page contains the members of the answer other than items. */
  first: (Answer<N> & PageOfList) | undefined;
  items: readonly Item<N>[];
  error: Error | null;
  /** Load the next page, unless there is none or a request is running. */
  more: () => void;
}

const IN_SIGHT = 200;
const IN_FILE = 1_000;
const MOST: Partial<Record<ListQuestion, number>> = { search: 60 };

export function useList<N extends ListQuestion>(question: N, parameters: QuestionParameters<N>): List<N> {
  const query = useInfiniteQuery({
    queryKey: [question, parameters, 'pages'],
    queryFn: ({ pageParam, signal }) => ask(question, paged(question, parameters, pageParam, IN_SIGHT), signal),
    initialPageParam: '',
    getNextPageParam: (last: Answer<N>) => (last as PageOfList).next ?? undefined,
    placeholderData: keepPreviousData,
  });
  const pages = query.data?.pages ?? [];
  return {
    question, parameters, first: pages[0] as List<N>['first'], error: query.error,
    items: pages.flatMap((page) => itemsOf<N>(page as PageOfList)),
    more: () => {
      if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
    },
  }; // prettier-ignore
}

/** Yield all items, page by page. */
export async function* everyItem<N extends ListQuestion>(question: N, parameters: QuestionParameters<N>, signal: AbortSignal): AsyncGenerator<Item<N>[]> {
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = (await ask(question, paged(question, parameters, cursor, IN_FILE), signal)) as PageOfList;
    yield itemsOf<N>(page);
    cursor = page.next;
  }
}

/** Return the items of a page with their readers, because the positions of readers are valid only within one page. */
function itemsOf<N extends ListQuestion>({ items, readers }: PageOfList): Item<N>[] {
  if (!readers) return items as Item<N>[];
  return (items as { readers: number }[]).map((item) => ({ ...item, dataset_readers: readers[item.readers]?.jobs ?? [], dataset_unread: readers[item.readers]?.unread ?? [] })) as unknown as Item<N>[];
}

function paged<N extends ListQuestion>(question: N, parameters: QuestionParameters<N>, cursor: string, limit: number): QuestionParameters<N> {
  return { ...parameters, cursor, limit: Math.min(limit, MOST[question] ?? limit) };
}
