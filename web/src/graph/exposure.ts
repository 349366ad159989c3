// The exposure of columns with personal data: fetched on demand, and shown as a colour and a word on the rows of boxes.
import { createContext, useMemo } from 'react';

import { ApiError } from '../api/client';
import { useQuestion } from '../api/hooks';
import { columnKey, type Exposure } from './exposureKeys';
import { tableId } from './picture';
import type { View } from './view';

const TAG = 'pii';
/** The maximum number of columns in one answer. */
const LIMIT = 1_000;

/** Exposures by the key of a column (`columnKey`). */
export const ExposureContext = createContext<ReadonlyMap<string, Exposure>>(new Map());

export interface Exposures {
  byColumn: ReadonlyMap<string, Exposure>;
  /** A sentence if the colours are missing or incomplete. */
  note: string | undefined;
}

/** Fetch the columns with personal data if the view shows them. */
export function useExposures(view: View): Exposures {
  const isShown = view.colouring === 'personal';
  const { data, error } = useQuestion('surface', { tag: TAG, limit: LIMIT, ...view.lens }, { enabled: isShown });
  return useMemo(() => {
    const items = isShown ? (data?.items ?? []) : [];
    const byColumn = new Map(
      items.flatMap((item): [string, Exposure][] =>
        item.column === null ? [] : [[columnKey(tableId(item.namespace, item.dataset), item.column), { kind: item.exposure, tagged: item.tagged }]],
      ),
    );
    return { byColumn, note: isShown ? noteOf(error, items.length, data?.truncated) : undefined };
  }, [isShown, data, error]);
}

function noteOf(error: Error | null, shown: number, truncated: boolean | undefined): string | undefined {
  if (error instanceof ApiError && error.status === 404) return `No column is tagged ${TAG}. To tag columns, send a tags facet or edit tags.yaml in your rules folder.`;
  if (error) return `Personal data is not shown: ${error.message}`;
  return truncated ? `Only the first ${shown} columns with personal data have a colour.` : undefined;
}
