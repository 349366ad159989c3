// The states of columns with personal data, and their keys and words. Saved pictures use them in a worker, without React.
import type { Schemas } from '../api/client';
import { EXPOSURE_WORDS } from '../parts/exposureWords';

export interface Exposure {
  kind: Schemas['SurfaceItem']['exposure'];
  tagged: boolean;
}

export const columnKey = (table: string, column: string): string => JSON.stringify([table, column.toLowerCase()]);

/** The word on the row of a column. */
export const exposureWord = (kind: Exposure['kind']): string => EXPOSURE_WORDS[kind];
