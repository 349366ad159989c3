// Formats times, durations, sizes and counts.
const COUNT = new Intl.NumberFormat('en');
const TIME = new Intl.DateTimeFormat('en-CA', {
  year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
  hourCycle: 'h23', timeZone: 'UTC',
}); // prettier-ignore

export const count = (value: number): string => COUNT.format(value);

/** Format a time (ISO text, or ms since 1970) in UTC, as in `2026-03-01 12:00:20`; empty if there is none. */
export function time(when: string | number | null | undefined): string {
  const moment = when ? new Date(when) : undefined;
  return moment && !Number.isNaN(moment.getTime()) ? TIME.format(moment).replace(', ', ' ') : '';
}

const DAY_S = 86_400;

/** Shorten a text from `time` to the precision that suits an axis of `span` seconds. */
export function tick(moment: string, span: number): string {
  if (span <= DAY_S) return moment.slice(11, 16);
  return span <= 14 * DAY_S ? moment.slice(5, 16) : moment.slice(0, 10);
}

/** Convert seconds, as the API returns them, to ms. */
export const milliseconds = (seconds: number | null | undefined): number | null => (seconds === null || seconds === undefined ? null : seconds * 1_000);

/** Format a duration in ms by its two largest units: `350 ms`, `2 min 5 s`, `3 d 4 h`. */
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

/** Format the time since a moment by its largest unit: `9 h ago`; empty if there is no time. */
export function ago(when: string | null | undefined): string {
  const moment = Date.parse(when ?? '');
  if (Number.isNaN(moment)) return '';
  const since = Date.now() - moment;
  return since < 60_000 ? 'now' : `${/^\d+ \w+/.exec(duration(since))?.[0] ?? ''} ago`;
}

/** Format a size in its largest decimal unit: `9 B`, `1.2 MB`. */
export function bytes(value: number): string {
  const step = value < 1_000 ? 0 : Math.min(5, Math.floor(Math.log10(value) / 3));
  return `${(value / 1_000 ** step).toFixed(step ? 1 : 0).replace(/\.0$/, '')} ${['B', 'kB', 'MB', 'GB', 'TB', 'PB'][step] ?? ''}`;
}

/** Convert the value of a `datetime-local` field, read as UTC, to ISO text; empty if it is not a time. */
export function isoOf(field: string): string {
  const moment = new Date(`${field}Z`);
  return field && !Number.isNaN(moment.getTime()) ? moment.toISOString() : '';
}

/** Convert ISO text to the value of a `datetime-local` field; empty if it is not a time, because addresses may contain anything. */
export function fieldOf(iso: string | null): string {
  const moment = new Date(iso ?? '');
  return Number.isNaN(moment.getTime()) ? '' : moment.toISOString().slice(0, 19);
}
