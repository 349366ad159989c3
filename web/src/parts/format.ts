// Times, durations and counts as text.
const COUNT = new Intl.NumberFormat('en');
const TIME = new Intl.DateTimeFormat('en-CA', {
  year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
  hourCycle: 'h23', timeZone: 'UTC',
}); // prettier-ignore

export const count = (value: number): string => COUNT.format(value);

/** A time (text, or ms since 1970) in UTC to the second, as in `2026-03-01 12:00:20`; empty for none. */
export function time(when: string | number | null | undefined): string {
  const moment = when ? new Date(when) : undefined;
  return moment && !Number.isNaN(moment.getTime()) ? TIME.format(moment).replace(', ', ' ') : '';
}

const DAY_S = 86_400;

/** How an axis names a moment that `time` wrote: as exactly as its span (s) has room for. */
export function tick(moment: string, span: number): string {
  if (span <= DAY_S) return moment.slice(11, 16);
  return span <= 14 * DAY_S ? moment.slice(5, 16) : moment.slice(0, 10);
}

/** A span of time by its two largest units: `350 ms`, `2 min 5 s`, `3 d 4 h`. */
/** What the API gives in seconds, in ms. */
export const milliseconds = (seconds: number | null | undefined): number | null => (seconds === null || seconds === undefined ? null : seconds * 1_000);

export function duration(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined) return '';
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
  const units: [string, number][] = [['d', 86_400], ['h', 3_600], ['min', 60], ['s', 1]]; // prettier-ignore
  let rest = Math.round(milliseconds / 1_000);
  const parts: string[] = [];
  for (const [name, length] of units) {
    const many = Math.floor(rest / length);
    rest -= many * length;
    if (many || parts.length) parts.push(many ? `${many} ${name}` : '');
    if (parts.length === 2) break;
  }
  return parts.filter(Boolean).join(' ');
}

/** A size by its largest unit of 1,000: `9 B`, `1.2 MB`. */
export function bytes(value: number): string {
  const step = value < 1_000 ? 0 : Math.min(5, Math.floor(Math.log10(value) / 3));
  return `${(value / 1_000 ** step).toFixed(step ? 1 : 0).replace(/\.0$/, '')} ${['B', 'kB', 'MB', 'GB', 'TB', 'PB'][step] ?? ''}`;
}

/** What a `datetime-local` field holds, read as UTC; empty for what is no time. */
export function isoOf(field: string): string {
  const moment = new Date(`${field}Z`);
  return field && !Number.isNaN(moment.getTime()) ? moment.toISOString() : '';
}

/** What a `datetime-local` field shows of a time; empty for what is no time, as an address may hold. */
export function fieldOf(iso: string | null): string {
  const moment = new Date(iso ?? '');
  return Number.isNaN(moment.getTime()) ? '' : moment.toISOString().slice(0, 19);
}
