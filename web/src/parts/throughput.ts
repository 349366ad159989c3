// Events a second, from counts that were heard one after the other.
export interface Heard {
  at: number;
  delivered: number;
}

const WINDOW_MS = 60_000;

/** Keep what tells the throughput of the last minute; a count that fell belongs to another sink of that name. */
export function kept(before: readonly Heard[], now: Heard): Heard[] {
  const last = before.at(-1);
  if (last && now.delivered < last.delivered) return [now];
  const from = before.findLastIndex((each) => now.at - each.at >= WINDOW_MS);
  return [...before.slice(Math.max(from, 0)), now];
}

/** Events a second over what was kept, undefined as long as that is one count. */
export function perSecond(heard: readonly Heard[]): number | undefined {
  const [first, last] = [heard[0], heard.at(-1)];
  if (!first || !last || last.at <= first.at) return undefined;
  return ((last.delivered - first.delivered) * 1_000) / (last.at - first.at);
}
