// The health badges of boxes: a symbol, a word and the reason, on the screen and in saved pictures.
import { createContext } from 'react';

import type { Answer, Schemas } from '../api/client';
import { count, duration, time } from '../parts/format';
import { fetchBoxHealth, type HealthItem } from '../parts/health';
import { groupId, LEVELS } from './collapse';
import { tableId, type Picture, type PictureTable } from './picture';

type Status = HealthItem['status'];

export interface Badge {
  status: Status;
  /** The text next to the symbol; may be empty. */
  label: string;
  detail: string;
}

/** Badges of groups, stacks and chains, by box id. */
export const GroupBadgesContext = createContext<ReadonlyMap<string, Badge>>(new Map());

export function badgeOf(item: HealthItem): Badge {
  const success = item.kind === 'job' ? 'last completed' : 'last written';
  const detail = [item.reason, item.last_success && `${success} ${time(item.last_success)} UTC`, item.last_run && `last run ${item.last_run.state}`];
  const late = item.late_seconds === null ? '' : ` ${duration(item.late_seconds * 1_000)}`;
  const isQuiet = item.status === 'ok' || item.status === 'unknown';
  return { status: item.status, label: isQuiet ? '' : `${item.status}${late}`, detail: detail.filter(Boolean).join('; ') };
}

/** The kind of thing whose health a box shows; undefined for groups, stacks, chains and removed tables. */
export const healthKind = (table: PictureTable): 'dataset' | 'job' | undefined =>
  table.change === 'removed' ? undefined : table.kind === 'table' ? 'dataset' : table.kind === 'job' ? 'job' : undefined;

export const hasGroups = ({ tables }: Picture): boolean => tables.some((table) => table.kind === 'group' || table.members);

const WORST: readonly Status[] = ['failed', 'late', 'stale'];

/** Return badges with the number of unhealthy members of each group, stack and chain, by box id. Other boxes have no badge. */
export function groupBadgesOf(picture: Picture, { items, truncated }: Pick<Answer<'health'>, 'items' | 'truncated'>): Map<string, Badge> {
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
  return new Map([...counts].map(([id, of]) => [id, groupBadge(of, truncated)]));
}

/** Return the ids of boxes that may contain an item: the item's own box, then its groups, narrowest first. */
function placesOf({ kind, namespace, name }: Schemas['HealthItem']): string[] {
  if (kind === 'job') return [`job:${namespace}/${name}`];
  const levels = LEVELS.filter((level) => level !== 'none');
  return [tableId(namespace, name), ...levels.map((level) => groupId({ namespace, name }, level))];
}

function groupBadge(counts: ReadonlyMap<Status, number>, truncated: boolean): Badge {
  const there = WORST.filter((status) => counts.has(status));
  const words = there.map((status) => `${count(counts.get(status) ?? 0)} ${status}`).join(', ');
  return { status: there[0] ?? 'unknown', label: truncated ? `${words} or more` : words, detail: 'number of unhealthy members' };
}

/** The number of badges that are requested in one task. */
const A_TASK = 200;

/** Fetch all badges of a picture before it is saved. Badges that cannot be fetched are left out. */
export async function badgesOf(picture: Picture, groupBadges: ReadonlyMap<string, Badge>): Promise<Map<string, Badge>> {
  const requests: Promise<[string, Badge] | undefined>[] = [];
  for (const table of picture.tables) {
    requests.push(badgeFor(table, groupBadges));
    if (requests.length % A_TASK === 0) await new Promise((next) => setTimeout(next)); // the page stays responsive
  }
  return new Map((await Promise.all(requests)).filter((each) => each !== undefined));
}

async function badgeFor(table: PictureTable, groupBadges: ReadonlyMap<string, Badge>): Promise<[string, Badge] | undefined> {
  const kind = healthKind(table);
  const item = kind && (await fetchBoxHealth(kind, table).catch(() => null));
  const badge = item ? badgeOf(item) : groupBadges.get(table.id);
  return badge && [table.id, badge];
}
