// Converts the path from one column or table to another to a picture.
import type { Answer } from '../api/client';
import { edgeId, tableId, type Picture, type PictureColumn, type PictureEdge, type PictureTable } from './picture';

type Path = Answer<'path'>;

/** Return a picture of the shortest path, or of only the two ends if there is no path. */
export function pathPicture(answer: Path): Picture {
  const tables = new Map<string, PictureTable & { columns: PictureColumn[] }>();
  const put = (at: Path['from'], distance: number, maskedOnTheWay: boolean) => {
    const id = tableId(at.namespace, at.dataset);
    const table = tables.get(id) ?? emptyTable(id, at, distance);
    if (at.column !== null && !table.columns.some((column) => column.name === at.column))
      table.columns.push({ name: at.column, distance, subject: distance === 0, maskedOnTheWay });
    tables.set(id, table);
    return id;
  };
  put(answer.from, 0, false);
  let masked = false;
  const edges = answer.path.map(({ via, ...step }, at): PictureEdge => {
    const from = put(via, at, masked);
    masked ||= via.transformation.masking;
    const ends = { from, to: put(step, at + 1, masked), fromColumn: via.column ?? undefined, toColumn: step.column ?? undefined };
    const { type, masking } = via.transformation;
    return { ...ends, id: edgeId(ends), indirect: type === 'INDIRECT', masked: masking, opaque: false, many: 1, jobs: [via.job] };
  });
  put(answer.to, answer.path.length || 1, masked);
  return { tables: [...tables.values()], edges, truncated: false };
}

function emptyTable(id: string, at: Path['from'], distance: number): PictureTable & { columns: PictureColumn[] } {
  return {
    id, kind: 'table', namespace: at.namespace, name: at.dataset, columns: [], more: 0, distance,
    moreUp: 0, moreDown: 0, columnLineage: true, subject: distance === 0,
  }; // prettier-ignore
}
