// The texts of boxes, on the screen and in saved pictures.
import { count } from '../parts/format';
import { shortName } from '../parts/links';
import type { PictureTable } from './picture';

export const NO_LINEAGE = 'no lineage was reported';
export const NO_FLOW = 'no flows shown';

export function headingOf(table: PictureTable): string {
  const many = count(table.members?.length ?? 0);
  if (table.kind === 'chain') return `${many} steps`;
  if (table.kind === 'stack') return table.isolated ? `${many} ${isOfJobs(table) ? 'jobs' : 'tables'}` : `+${many} more`;
  return table.display ?? (shortName(table.name) || table.namespace);
}

export function subtitleOf(table: PictureTable): string {
  const mark = table.change === 'added' ? 'added · ' : table.change === 'removed' ? 'removed · ' : '';
  return `${mark}${about(table)}`;
}

function about(table: PictureTable): string {
  const where = table.isolated ? `${NO_LINEAGE} · ${table.namespace}` : table.namespace;
  if ((table.isolated || table.id === 'stack:apart') && isOfJobs(table)) return NO_FLOW;
  if (table.kind === 'chain') return 'folded chain';
  if (table.id === 'stack:apart') return 'no edges in this graph';
  if (table.kind === 'stack') return table.isolated ? NO_LINEAGE : sideOf(table);
  if (table.kind === 'job') return `${table.level ?? 'job'} · ${(table.jobs ?? 1) > 1 ? `${count(table.jobs ?? 1)} jobs · ` : ''}${table.namespace}`;
  if (table.kind === 'group') return `${count(table.datasets ?? 0)} ${table.datasets === 1 ? 'dataset' : 'datasets'}${table.isolated ? ` · ${NO_LINEAGE}` : ''}${table.name && ` · ${table.namespace}`}`;
  return `${table.columnLineage || table.distance < 0 || table.isolated ? '' : 'no column lineage · '}${where}`;
}

const isOfJobs = (table: PictureTable): boolean => table.members?.[0]?.kind === 'job';

function sideOf({ distance }: PictureTable): string {
  return distance < 0 ? 'upstream, folded' : distance > 0 ? 'downstream, folded' : 'others, folded';
}

/** The accessible name of a box: heading, subtitle, and the numbers of edges in and out. */
export function accessibleName(table: PictureTable, ins: number, outs: number): string {
  return `${headingOf(table)} ${subtitleOf(table)}, ${degrees(ins, outs)}`;
}

export const degrees = (ins: number, outs: number): string => `${count(ins)} in, ${count(outs)} out`;
