// Folds tables into groups by their names, as the map of groups does, and merges their edges.
import { layerOf } from './layer';
import { systemOf } from './words';
import { edgeId, type Picture, type PictureEdge, type PictureTable } from './picture';

export const LEVELS = ['none', 'schema', 'lakehouse', 'namespace', 'system', 'layer'] as const;
export type Level = (typeof LEVELS)[number];

/** Return whether the API can group the map by this level. It groups by names only. */
export const isMapLevel = (level: Level): boolean => level !== 'system' && level !== 'layer';

/** Return the group of a dataset name at a level: an empty text, the first part of the name, or all parts except the last. */
export function groupName(name: string, level: Level): string {
  const text = name.replace(/^\/+|\/+$/g, '');
  const separator = text.includes('/') ? '/' : '.';
  const parts = text.split(separator);
  if (level === 'namespace' || parts.length === 1) return '';
  return level === 'lakehouse' ? (parts[0] ?? '') : parts.slice(0, -1).join(separator);
}

/** Return the id of the group of a table; empty if the table has no group at this level. */
export function groupId(table: Pick<PictureTable, 'namespace' | 'name'>, level: Level): string {
  if (level === 'system') return `group:${systemOf(table.namespace)[0]}`;
  if (level === 'layer') return layerOf(table.name) ? `group:${layerOf(table.name) ?? ''}` : '';
  const name = groupName(table.name, level);
  return name ? `group:${table.namespace}/${name}` : `group:${table.namespace}`;
}

/** Fold all tables into groups, except the selected table and the tables of opened groups. */
export function collapse(picture: Picture, level: Level, opened: ReadonlySet<string>): Picture {
  if (level === 'none') return picture;
  const place = new Map<string, string>();
  const tables = new Map<string, PictureTable>();
  for (const table of picture.tables) {
    const group = groupId(table, level);
    const stays = table.subject || table.kind === 'group' || group === '' || opened.has(group);
    place.set(table.id, stays ? table.id : group);
    tables.set(stays ? table.id : group, stays ? table : addToGroup(tables.get(group), group, table, level));
  }
  return { ...picture, tables: [...tables.values()], edges: foldInto(picture.edges, place, tables) };
}

function addToGroup(group: PictureTable | undefined, id: string, table: PictureTable, level: Level): PictureTable {
  const isByName = isMapLevel(level);
  const name = isByName ? groupName(table.name, level) : id.replace('group:', '');
  if (!group) return { ...table, ...(!isByName && { namespace: '', display: undefined }), id, kind: 'group', name, columns: [], more: 0, datasets: 1, inside: 0, change: undefined };
  return {
    ...group, datasets: (group.datasets ?? 0) + 1, moreUp: group.moreUp + table.moreUp, moreDown: group.moreDown + table.moreDown,
  }; // prettier-ignore
}

/** Redirect edges to the boxes that contain their ends, and merge edges with the same ends. A box counts the edges inside it instead. */
export function foldInto(edges: readonly PictureEdge[], place: ReadonlyMap<string, string>, tables: Map<string, PictureTable>): PictureEdge[] {
  const found = new Map<string, PictureEdge>();
  for (const edge of edges) {
    const [from, to] = [place.get(edge.from) ?? edge.from, place.get(edge.to) ?? edge.to];
    if (from === edge.from && to === edge.to) {
      found.set(edge.id, edge);
      continue;
    }
    const group = tables.get(from);
    if (from === to) {
      if (group) tables.set(from, { ...group, inside: (group.inside ?? 0) + 1 });
      continue;
    }
    const ends = {
      from, to, ...(edge.control ? { control: true } : {}), ...(from === edge.from && edge.fromColumn ? { fromColumn: edge.fromColumn } : {}),
      ...(to === edge.to && edge.toColumn ? { toColumn: edge.toColumn } : {}),
    }; // prettier-ignore
    const id = edgeId(ends);
    const known = found.get(id);
    found.set(id, known ? mergeEdges(known, edge) : { ...edge, id, ...plain(ends) });
  }
  return [...found.values()];
}

function plain(ends: { from: string; to: string; fromColumn?: string; toColumn?: string }) {
  return { from: ends.from, to: ends.to, fromColumn: ends.fromColumn, toColumn: ends.toColumn };
}

export function mergeEdges(known: PictureEdge, edge: PictureEdge): PictureEdge {
  return {
    ...known,
    many: known.many + edge.many,
    indirect: known.indirect && edge.indirect,
    masked: known.masked && edge.masked,
    opaque: known.opaque || edge.opaque,
    weak: known.weak && edge.weak,
    change: known.change === edge.change ? known.change : undefined,
  };
}
