// What a box says, on the screen and saved.
import { count } from '../parts/format';
import { shortName } from '../parts/links';
import type { PictureTable } from './picture';

export const ALONE = 'no lineage was reported';
export const NO_FLOW = 'no line that is drawn leads there';

export function headingOf(table: PictureTable): string {
  const many = count(table.members?.length ?? 0);
  if (table.kind === 'chain') return `${many} steps`;
  if (table.kind === 'stack') return table.alone ? `${many} ${isOfJobs(table) ? 'jobs' : 'tables'}` : `+${many} more`;
  return table.display ?? (shortName(table.name) || table.namespace);
}

export function subtitleOf(table: PictureTable): string {
  const mark = table.change === 'added' ? 'new · ' : table.change === 'removed' ? 'gone · ' : '';
  return `${mark}${about(table)}`;
}

function about(table: PictureTable): string {
  const where = table.alone ? `${ALONE} · ${table.namespace}` : table.namespace;
  if ((table.alone || table.id === 'stack:apart') && isOfJobs(table)) return NO_FLOW;
  if (table.kind === 'chain') return 'one after the other, folded';
  if (table.id === 'stack:apart') return 'no edge among what is drawn';
  if (table.kind === 'stack') return table.alone ? ALONE : sideOf(table);
  if (table.kind === 'job') return `${table.level ?? 'job'} · ${(table.jobs ?? 1) > 1 ? `${count(table.jobs ?? 1)} jobs · ` : ''}${table.namespace}`;
  if (table.kind === 'group') return `${count(table.datasets ?? 0)} ${table.datasets === 1 ? 'dataset' : 'datasets'}${table.alone ? ` · ${ALONE}` : ''}${table.name && ` · ${table.namespace}`}`;
  return `${table.columnLineage || table.distance < 0 || table.alone ? '' : 'no column lineage · '}${where}`;
}

const isOfJobs = (table: PictureTable): boolean => table.members?.[0]?.kind === 'job';

function sideOf({ distance }: PictureTable): string {
  return distance < 0 ? 'feed it, folded' : distance > 0 ? 'made of it, folded' : 'beside it, folded';
}

/** How a box is announced: its name, what stands below it, and how many edges lead there and on from there. */
export function spoken(table: PictureTable, ins: number, outs: number): string {
  return `${headingOf(table)} ${subtitleOf(table)}, ${degrees(ins, outs)}`;
}

export const degrees = (ins: number, outs: number): string => `${count(ins)} in, ${count(outs)} out`;
