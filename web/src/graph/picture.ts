// The model of a graph: boxes with columns, and edges between them, built from answers of the API.
import type { Answer, Schemas } from '../api/client';
import { count } from '../parts/format';

export type Change = 'added' | 'removed' | undefined;

export interface PictureColumn {
  name: string;
  /** Number of edges from the selected column; negative upstream. */
  distance: number;
  subject: boolean;
  /** Whether every path between this column and the selected column has a masking step. The values of this column may be unmasked. */
  maskedOnTheWay: boolean;
  change?: Change;
}

export interface PictureTable {
  id: string;
  /** stack: folded siblings; chain: folded consecutive tables. */
  kind: 'table' | 'group' | 'job' | 'stack' | 'chain';
  namespace: string;
  name: string;
  /** The display name, if it differs from the canonical name. */
  display?: string | undefined;
  columns: readonly PictureColumn[];
  /** Number of further columns that are not in `columns`. */
  more: number;
  distance: number;
  moreUp: number;
  moreDown: number;
  columnLineage: boolean;
  subject: boolean;
  /** Only jobs: the granularity level, and the number of jobs in this box. */
  level?: string;
  jobs?: number;
  /** Only groups: the number of datasets in the group, and the number of edges between these datasets. */
  datasets?: number;
  inside?: number;
  /** Only stacks and chains: the folded boxes. */
  members?: readonly PictureTable[];
  /** Whether the box has no edges. */
  isolated?: boolean;
  change?: Change;
}

export interface PictureEdge {
  id: string;
  from: string;
  to: string;
  fromColumn?: string;
  toColumn?: string;
  indirect: boolean;
  masked: boolean;
  /** Whether the columns of this edge are unknown. */
  opaque: boolean;
  /** What an indirect edge does, such as `join` or `filter`. */
  how?: string;
  /** Control flow: one job waits for the other, with or without data flow. */
  control?: boolean;
  /** Number of edges merged into this one. */
  many: number;
  jobs: readonly Schemas['Job'][];
  change?: Change;
  /** Whether to draw the edge only if one of its ends is selected, because the graph is dense and other edges are heavier. */
  weak?: boolean;
}

export interface Picture {
  tables: readonly PictureTable[];
  edges: readonly PictureEdge[];
  truncated: boolean;
}

type LineageAnswer = Answer<'lineage'>;

/** The neighbourhood of a dataset or a column. For a column, tables list only related columns, nearest first. */
export function pictureOf(answer: LineageAnswer): Picture {
  const asksColumn = answer.subject.column !== null;
  const ids = answer.tables.map((table) => tableId(table.namespace, table.dataset));
  const related = new Map<number, PictureColumn[]>();
  for (const { table, column, distance, masked } of answer.columns) {
    const subject = distance === 0;
    const of = related.get(table) ?? [];
    of.push({ name: column, distance, subject, maskedOnTheWay: masked });
    related.set(table, of);
  }
  const written = new Set(answer.tableEdges.map((edge) => edge.to));
  const tables = answer.tables.map((table, at): PictureTable => {
    const columns = asksColumn ? sortedColumns(related.get(at) ?? []) : table.columns.map(plainColumn);
    return {
      id: ids[at] ?? '', kind: 'table', namespace: table.namespace, name: table.dataset, display: table.display_name, columns,
      more: Math.max(0, table.columnCount - columns.length), distance: table.distance,
      moreUp: table.moreUp, moreDown: table.moreDown, subject: table.distance === 0,
      columnLineage: table.columnLineage || (!written.has(at) && !table.moreUp), // a table without writers does not lack column lineage
    }; // prettier-ignore
  });
  const edges = asksColumn ? [...columnEdges(answer, ids), ...onwardEdges(answer, ids)] : tableEdges(answer.tableEdges, ids);
  return { tables, edges, truncated: answer.truncated };
}

/** The mark of a column with `maskedOnTheWay`, on the screen and in saved pictures. */
export const MASKED_ON_THE_WAY = 'masked on the way';

/** The label of an edge; may be empty. */
export function edgeWords(edge: PictureEdge): string {
  const change = edge.change === 'added' ? '+' : edge.change === 'removed' ? '−' : '';
  return change + [edge.many > 1 ? count(edge.many) : edge.how, edge.masked && 'masks', edge.opaque && edge.many === 1 && 'no columns'].filter(Boolean).join(' ');
}

export const tableId = (namespace: string, name: string): string => `dataset:${namespace}/${name}`;

const plainColumn = (name: string): PictureColumn => ({ name, distance: 0, subject: false, maskedOnTheWay: false });

function sortedColumns(columns: readonly PictureColumn[]): PictureColumn[] {
  return [...columns].sort((a, b) => Math.abs(a.distance) - Math.abs(b.distance) || a.name.localeCompare(b.name));
}

function columnEdges(answer: LineageAnswer, ids: readonly string[]): PictureEdge[] {
  return answer.columnEdges.flatMap((edge) => {
    const [from, to] = [answer.columns[edge.from], answer.columns[edge.to]];
    if (!from || !to) return [];
    const ends = { from: ids[from.table] ?? '', to: ids[to.table] ?? '', fromColumn: from.column, toColumn: to.column };
    return [{
      ...ends, id: edgeId(ends), indirect: edge.type === 'INDIRECT', masked: edge.masked, opaque: false, many: 1, jobs: [], ...(edge.type === 'INDIRECT' && { how: (edge.subtype ?? '').toLowerCase().replaceAll('_', ' ') }),
    }]; // prettier-ignore
  });
}

/** The edges without known columns. */
function onwardEdges(answer: LineageAnswer, ids: readonly string[]): PictureEdge[] {
  return tableEdges(answer.tableEdges.filter((edge) => !edge.columns), ids);
}

function tableEdges(edges: LineageAnswer['tableEdges'], ids: readonly string[]): PictureEdge[] {
  return edges.map((edge) => {
    const ends = { from: ids[edge.from] ?? '', to: ids[edge.to] ?? '' };
    return { ...ends, id: edgeId(ends), indirect: false, masked: false, opaque: !edge.columns, many: 1, jobs: edge.jobs };
  });
}

export function edgeId(ends: { from: string; to: string; fromColumn?: string; toColumn?: string; control?: boolean }): string {
  return JSON.stringify([ends.from, ends.fromColumn ?? '', ends.to, ends.toColumn ?? '', ...(ends.control ? ['control'] : [])]);
}

/** Convert the map of groups to a picture. */
export function mapOf(answer: Answer<'graph'>): Picture {
  return {
    tables: answer.nodes.map((node) => ({
      id: node.id, kind: node.kind === 'group' ? 'group' : 'table', namespace: node.namespace, name: node.name, display: node.display_name,
      columns: [], more: 0, distance: 0, moreUp: 0, moreDown: 0, columnLineage: true, subject: false,
      datasets: node.datasets, inside: node.inside,
    })), // prettier-ignore
    edges: answer.edges.map((edge) => ({
      id: edgeId(edge), from: edge.from, to: edge.to, indirect: false, masked: false, opaque: false, many: edge.edges, jobs: [],
    })), // prettier-ignore
    truncated: answer.truncated,
  };
}
