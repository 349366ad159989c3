// Sentences that explain where lineage stops because jobs do not report something.
import type { Schemas } from '../api/client';
import { shortName } from '../parts/links';

type Stop = Schemas['Stop'];

export function stopSentences(stops: readonly Stop[]): string[] {
  const tables = stops.filter((stop) => stop.reason === 'no_columns').map((stop) => shortName(stop.dataset));
  const links = stops.flatMap((stop) => stop.may_be_connected.map((link) => `${shortName(stop.dataset)} and ${shortName(link.dataset)}`));
  return [
    ...(tables.length ? [`Lineage may continue beyond ${some(tables)}, where jobs report no columns.`] : []),
    ...stops.filter((stop) => stop.reason === 'no_input').map((stop) => `${shortName(stop.dataset)} is written by ${jobsOf(stop)}, which reports no input.`),
    ...stops.filter((stop) => stop.reason === 'no_output').map((stop) => `${shortName(stop.dataset)} is read by ${jobsOf(stop)}, which reports no output.`),
    ...stops.filter((stop) => stop.reason === 'not_completed').flatMap((stop) => stop.runs.slice(0, 3).map((run) =>
      `A run of ${run.job.name} at ${shortName(stop.dataset)} is ${run.state}, so its inputs and outputs are unknown. Wait until it ends, or run the job again.`)),
    ...stops.filter((stop) => stop.reason === 'events_removed').map((stop) => `Events before ${stop.events_removed_before} were removed, so earlier lineage may be missing.`),
    ...(links.length ? [`One application read and wrote these tables, so they may be connected: ${some(links)}.`] : []),
  ];
}

function jobsOf(stop: Stop): string {
  return some(stop.jobs.map((job) => job.name));
}

function some(names: readonly string[]): string {
  const every = [...new Set(names)];
  return every.slice(0, 3).join(', ') + (every.length > 3 ? ` and ${every.length - 3} more` : '');
}
