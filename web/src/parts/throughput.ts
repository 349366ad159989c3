// Events per second, from consecutive counts.
export interface Sample {
  at: number;
  delivered: number;
}

const WINDOW_MS = 60_000;

/** Add a sample, and keep only the samples of the last minute. If the count decreased, a new sink has this name: drop earlier samples. */
export function addSample(before: readonly Sample[], now: Sample): Sample[] {
  const last = before.at(-1);
  if (last && now.delivered < last.delivered) return [now];
  const from = before.findLastIndex((each) => now.at - each.at >= WINDOW_MS);
  return [...before.slice(Math.max(from, 0)), now];
}

/** Events per second over the samples; undefined with fewer than two. */
export function perSecond(samples: readonly Sample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at <= first.at) return undefined;
  return ((last.delivered - first.delivered) * 1_000) / (last.at - first.at);
}
