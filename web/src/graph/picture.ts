// What is drawn: tables or groups with columns, and edges between them. Pure: made of the API's answers.
import type { Answer, Schemas } from '../api/client';
import { count } from '../parts/format';

export type Change = 'added' | 'removed' | undefined;

export interface PictureColumn {
  name: string;
  /** Edges from the asked column; below 0 it feeds it. */
  distance: number;
  subject: boolean;
  /** Every way between it and the asked one has a step that masks; of its own values this says nothing. */
  maskedOnTheWay: boolean;
  change?: Change;
}

export interface PictureTable {
  id: string;
  /** stack, chain: tables that are folded, side by side or one after the other. */
  kind: 'table' | 'group' | 'job' | 'stack' | 'chain';
  namespace: string;
  name: string;
  /** What people call it, where that is not its canonical name. */
  display?: string | undefined;
  columns: readonly PictureColumn[];
  /** Columns that are there but not in `columns`. */
  more: number;
  distance: number;
  moreUp: number;
  moreDown: number;
  columnLineage: boolean;
  subject: boolean;
  /** Of a job: what it is, and how many it stands for. */
  level?: string;
  jobs?: number;
  /** Of a group: how many datasets, and edges between them. */
  datasets?: number;
  inside?: number;
  /** Of a stack or a chain: what is folded. */
  members?: readonly PictureTable[];
  /** No edge of this picture leads from or to it. */
  alone?: boolean;
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
  /** Nobody says which columns. */
  opaque: boolean;
  /** One job waits for another; no data need pass. */
  control?: boolean;
  /** Edges that this one stands for. */
  many: number;
  jobs: readonly Schemas['Job'][];
  change?: Change;
  /** Drawn only where one of its ends is chosen: there are too many, and others stand for more. */
  weak?: boolean;
}

export interface Picture {
  tables: readonly PictureTable[];
  edges: readonly PictureEdge[];
  truncated: boolean;
}

type Around = Answer<'lineage'>;

/** What lies around a dataset or a column; with a column only related columns stay, nearest first. */
export function pictureOf(answer: Around): Picture {
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
      columnLineage: table.columnLineage || (!written.has(at) && !table.moreUp), // what nobody writes lacks none
    }; // prettier-ignore
  });
  const edges = asksColumn ? [...columnEdges(answer, ids), ...onwardEdges(answer, ids)] : tableEdges(answer.tableEdges, ids);
  return { tables, edges, truncated: answer.truncated };
}

/** How a column says it, in every form in which a picture is shown. */
export const MASKED_ON_THE_WAY = 'masked on the way';

/** What is written at an edge, empty where nothing is. */
export function edgeWords(edge: PictureEdge): string {
  const change = edge.change === 'added' ? '+' : edge.change === 'removed' ? '−' : '';
  return change + [edge.many > 1 ? count(edge.many) : '', edge.masked ? 'masks' : ''].filter(Boolean).join(' ');
}

export const tableId = (namespace: string, name: string): string => `dataset:${namespace}/${name}`;

const plainColumn = (name: string): PictureColumn => ({ name, distance: 0, subject: false, maskedOnTheWay: false });

function sortedColumns(columns: readonly PictureColumn[]): PictureColumn[] {
  return [...columns].sort((a, b) => Math.abs(a.distance) - Math.abs(b.distance) || a.name.localeCompare(b.name));
}

function columnEdges(answer: Around, ids: readonly string[]): PictureEdge[] {
  return answer.columnEdges.flatMap((edge) => {
    const [from, to] = [answer.columns[edge.from], answer.columns[edge.to]];
    if (!from || !to) return [];
    const ends = { from: ids[from.table] ?? '', to: ids[to.table] ?? '', fromColumn: from.column, toColumn: to.column };
    return [{
      ...ends, id: edgeId(ends), indirect: edge.type === 'INDIRECT', masked: edge.masked, opaque: false, many: 1, jobs: [],
    }]; // prettier-ignore
  });
}

/** Where lineage goes on without columns. */
function onwardEdges(answer: Around, ids: readonly string[]): PictureEdge[] {
  return tableEdges(answer.tableEdges.filter((edge) => !edge.columns), ids);
}

function tableEdges(edges: Around['tableEdges'], ids: readonly string[]): PictureEdge[] {
  return edges.map((edge) => {
    const ends = { from: ids[edge.from] ?? '', to: ids[edge.to] ?? '' };
    return { ...ends, id: edgeId(ends), indirect: false, masked: false, opaque: !edge.columns, many: 1, jobs: edge.jobs };
  });
}

export function edgeId(ends: { from: string; to: string; fromColumn?: string; toColumn?: string; control?: boolean }): string {
  return JSON.stringify([ends.from, ends.fromColumn ?? '', ends.to, ends.toColumn ?? '', ...(ends.control ? ['control'] : [])]);
}

/** The map of groups. */
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
