// Compares two pictures of the same subject at two times.
import type { Change, Picture, PictureColumn, PictureTable } from './picture';

/** Merge two pictures. Parts that only `after` has are marked as added, parts that only `before` has as removed. */
export function compare(before: Picture, after: Picture): Picture {
  const old = new Map(before.tables.map((table) => [table.id, table]));
  const now = new Map(after.tables.map((table) => [table.id, table]));
  const tables = [
    ...after.tables.map((table) => mergeTable(old.get(table.id), table)),
    ...before.tables.filter((table) => !now.has(table.id)).map((table) => ({ ...table, change: 'removed' as const })),
  ];
  const oldEdges = new Set(before.edges.map((edge) => edge.id));
  const nowEdges = new Set(after.edges.map((edge) => edge.id));
  const edges = [
    ...after.edges.map((edge) => ({ ...edge, change: oldEdges.has(edge.id) ? undefined : ('added' as const) })),
    ...before.edges.filter((edge) => !nowEdges.has(edge.id)).map((edge) => ({ ...edge, change: 'removed' as const })),
  ];
  return { tables, edges, truncated: before.truncated || after.truncated };
}

function mergeTable(before: PictureTable | undefined, after: PictureTable): PictureTable {
  if (!before) return { ...after, change: 'added' };
  const known = new Set(before.columns.map((column) => column.name));
  const still = new Set(after.columns.map((column) => column.name));
  const marked = (column: PictureColumn, change: Change): PictureColumn => ({ ...column, change });
  return {
    ...after,
    columns: [
      ...after.columns.map((column) => marked(column, known.has(column.name) ? undefined : 'added')),
      ...before.columns.filter((column) => !still.has(column.name)).map((column) => marked(column, 'removed')),
    ],
  };
}
