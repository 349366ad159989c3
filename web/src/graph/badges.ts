// How what is drawn fares, as its boxes say it: a sign, a word, and the reason; on the screen and saved.
import { createContext } from 'react';

import type { Answer, Schemas } from '../api/client';
import { count, duration, time } from '../parts/format';
import { faringOf, type Faring } from '../parts/health';
import { groupId, LEVELS } from './collapse';
import { tableId, type Picture, type PictureTable } from './picture';

type Status = Faring['status'];

export interface Badge {
  status: Status;
  /** Seen beside the sign; empty where the sign is enough. */
  said: string;
  told: string;
}

/** Boxes that stand for many, by their ids. */
export const GatheredContext = createContext<ReadonlyMap<string, Badge>>(new Map());

export function badgeOf(item: Faring): Badge {
  const success = item.kind === 'job' ? 'last completed' : 'last written';
  const told = [item.reason, item.last_success && `${success} ${time(item.last_success)} UTC`, item.last_run && `last run ${item.last_run.state}`];
  const late = item.late_seconds === null ? '' : ` ${duration(item.late_seconds * 1_000)}`;
  const isQuiet = item.status === 'ok' || item.status === 'unknown';
  return { status: item.status, said: isQuiet ? '' : `${item.status}${late}`, told: told.filter(Boolean).join('; ') };
}

/** Does a box fare by itself? */
export const faresAs = (table: PictureTable): 'dataset' | 'job' | undefined =>
  table.change === 'removed' ? undefined : table.kind === 'table' ? 'dataset' : table.kind === 'job' ? 'job' : undefined;

export const hasGathered = ({ tables }: Picture): boolean => tables.some((table) => table.kind === 'group' || table.members);

const WORST: readonly Status[] = ['failed', 'late', 'stale'];

/** Count for each group, stack and chain what of it does not fare well; who has nothing of it has no badge. */
export function gathered(picture: Picture, { items, truncated }: Pick<Answer<'health'>, 'items' | 'truncated'>): Map<string, Badge> {
  const boxes = new Map<string, string>();
  for (const table of picture.tables) {
    if (table.kind === 'group') boxes.set(table.id, table.id);
    for (const member of table.members ?? []) boxes.set(member.id, table.id);
  }
  const counts = new Map<string, Map<Status, number>>();
  for (const item of items) {
    const box = placesOf(item).map((id) => boxes.get(id)).find((id) => id !== undefined);
    if (box === undefined) continue;
    const known = counts.get(box) ?? new Map<Status, number>();
    counts.set(box, known.set(item.status, (known.get(item.status) ?? 0) + 1));
  }
  return new Map([...counts].map(([id, of]) => [id, gatheredBadge(of, truncated)]));
}

/** Ids of boxes that an item may be in, its own first, then groups from the narrowest on. */
function placesOf({ kind, namespace, name }: Schemas['HealthItem']): string[] {
  if (kind === 'job') return [`job:${namespace}/${name}`];
  const levels = LEVELS.filter((level) => level !== 'none');
  return [tableId(namespace, name), ...levels.map((level) => groupId({ namespace, name }, level))];
}

function gatheredBadge(counts: ReadonlyMap<Status, number>, truncated: boolean): Badge {
  const there = WORST.filter((status) => counts.has(status));
  const words = there.map((status) => `${count(counts.get(status) ?? 0)} ${status}`).join(', ');
  return { status: there[0] ?? 'unknown', said: truncated ? `${words} or more` : words, told: 'of what it stands for' };
}

/** How many are asked for in one task of the page. */
const A_TASK = 200;

/** All badges of a picture, for one that is saved; what cannot be told now is left out. */
export async function badgesOf(picture: Picture, ofMany: ReadonlyMap<string, Badge>): Promise<Map<string, Badge>> {
  const asked: Promise<[string, Badge] | undefined>[] = [];
  for (const table of picture.tables) {
    asked.push(badgeFor(table, ofMany));
    if (asked.length % A_TASK === 0) await new Promise((next) => setTimeout(next)); // the page stays quick meanwhile
  }
  return new Map((await Promise.all(asked)).filter((each) => each !== undefined));
}

async function badgeFor(table: PictureTable, ofMany: ReadonlyMap<string, Badge>): Promise<[string, Badge] | undefined> {
  const kind = faresAs(table);
  const item = kind && (await faringOf(kind, table).catch(() => null));
  const badge = item ? badgeOf(item) : ofMany.get(table.id);
  return badge && [table.id, badge];
}
