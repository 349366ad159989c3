// The exposure of columns with personal data: fetched on demand, and shown as a colour and a word on the rows of boxes.
import { createContext, useMemo } from 'react';

import { ApiError, type Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { tableId } from './picture';
import type { View } from './view';

const TAG = 'pii';
/** The maximum number of columns in one answer. */
const LIMIT = 1_000;

export interface Exposure {
  kind: Schemas['SurfaceItem']['exposure'];
  tagged: boolean;
}

/** Exposures by the key of a column (`columnKey`). */
export const ExposureContext = createContext<ReadonlyMap<string, Exposure>>(new Map());

export const columnKey = (table: string, column: string): string => JSON.stringify([table, column.toLowerCase()]);

const WORDS: Record<Exposure['kind'], string> = { exposed: 'readable', masked: 'masked', once_exposed: 'once readable', unknown: 'not proven' };

/** The word on the row of a column. */
export const exposureWord = (kind: Exposure['kind']): string => WORDS[kind];

export interface Exposures {
  byColumn: ReadonlyMap<string, Exposure>;
  /** A sentence if the colours are missing or incomplete. */
  note: string | undefined;
}

/** Fetch the columns with personal data if the view shows them. */
export function useExposures(view: View): Exposures {
  const { data, error } = useQuestion('surface', { tag: TAG, limit: LIMIT, ...view.lens }, { enabled: view.personal });
  return useMemo(() => {
    const items = view.personal ? (data?.items ?? []) : [];
    const byColumn = new Map(
      items.flatMap((item): [string, Exposure][] =>
        item.column === null ? [] : [[columnKey(tableId(item.namespace, item.dataset), item.column), { kind: item.exposure, tagged: item.tagged }]],
      ),
    );
    return { byColumn, note: view.personal ? noteOf(error, items.length, data?.truncated) : undefined };
  }, [view.personal, data, error]);
}

function noteOf(error: Error | null, shown: number, truncated: boolean | undefined): string | undefined {
  if (error instanceof ApiError && error.status === 404) return `No column is tagged ${TAG}. To tag columns, send a tags facet or edit tags.yaml in your rules folder.`;
  if (error) return `Personal data is not shown: ${error.message}`;
  return truncated ? `Only the first ${shown} columns with personal data have a colour.` : undefined;
}
