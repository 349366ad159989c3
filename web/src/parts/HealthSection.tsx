// The health of a dataset or a job, with its owners, source code and tags.
import { useState } from 'react';

import type { Answer, Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { DataTable } from './DataTable';
import { count, duration, time } from './format';
import type { HealthItem } from './health';
import { Chip, DatasetLink, JobLink, RunLink } from './Names';
import { Section } from './Page';
import { SIGNS } from './signs';
import { Answered } from './States';

type Subject = { namespace: string; dataset: string } | { namespace: string; job: string };

export function HealthSection({ parameters }: { parameters: Subject }) {
  const query = useQuestion('health', { ...parameters, limit: 200 });
  return <Section title="Health"><Answered query={query}>{(answer) => <One answer={answer} />}</Answered></Section>;
}

function One({ answer }: { answer: Answer<'health'> }) {
  const [item] = answer.items;
  return (
    <>
      {item && <HealthList item={item} none={answer.never_written ? 'never written' : 'unknown'} />}
      <FailedRuns rows={answer.failed_runs} />
      {answer.about && <AboutList about={answer.about} />}
      <NotRefreshed rows={answer.not_refreshed} truncated={answer.truncated} />
    </>
  );
}

export function Status({ status }: { status: HealthItem['status'] }) {
  return <Chip kind={status === 'ok' ? 'complete' : status === 'failed' ? 'fail' : status}>{`${SIGNS[status]} ${status}`}</Chip>;
}

export function HealthList({ item, none = 'unknown' }: { item: HealthItem; none?: string }) {
  const what = item.kind === 'job' ? 'Last completed run' : 'Last write';
  return (
    <dl className="about">
      <dt>State</dt><dd><Status status={item.status} /> <bdi>{item.reason}</bdi></dd>
      <dt>{what}</dt><dd>{item.last_success ? <>{time(item.last_success)} {item.success_run && <RunLink id={item.success_run} />}</> : none}</dd>
      {item.last_run && <><dt>Last run</dt><dd><Chip kind={item.last_run.state}>{item.last_run.state}</Chip> {time(item.last_run.time)} <RunLink id={item.last_run.id} /></dd></>}
      {item.usual_seconds !== null && <><dt>Usually every</dt><dd>{duration(item.usual_seconds * 1_000)}{item.due && `, next by ${time(item.due)}`}</dd></>}
      {item.waits_for.length > 0 && (
        <><dt>Waits for</dt><dd>{item.waits_for.map((each) => <span key={each.namespace + each.dataset}><DatasetLink id={{ namespace: each.namespace, name: each.dataset }} /> </span>)}</dd></>
      )}
    </dl>
  );
}

export function AboutList({ about }: { about: Schemas['About'] }) {
  const { description, owners, source, tags } = about;
  if (!description && !owners.length && !source && !tags.length) return null;
  return (
    <dl className="about">
      {description && <><dt>Description</dt><dd><Description text={description} /></dd></>}
      {owners.length > 0 && <><dt>Owners</dt><dd>{owners.map((owner, at) => <bdi key={at} className="chip" title={owner.type ?? ''}>{owner.name}</bdi>)}</dd></>}
      {source && <><dt>Code</dt><dd><Code source={source} /></dd></>}
      {tags.length > 0 && <><dt>Tags</dt><dd>{tags.map((tag, at) => <bdi key={at} className="chip">{tag.value && tag.value !== 'true' ? `${tag.key}: ${tag.value}` : tag.key}</bdi>)}</dd></>}
    </dl>
  );
}

const SHOWN_AT_FIRST = 400;

/** A description. Because it may be a page of text, it is shortened until the user expands it. */
function Description({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const letters = Array.from(text);
  if (letters.length <= SHOWN_AT_FIRST) return <bdi>{text}</bdi>;
  return (
    <>
      <bdi>{isWhole ? text : `${letters.slice(0, SHOWN_AT_FIRST).join('')} …`}</bdi>{' '}
      <button type="button" className="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>{isWhole ? 'less' : `more (${count(letters.length)} characters)`}</button>
    </>
  );
}

/** The location of source code. A URL from a producer becomes a link only if it is an https URL. */
function Code({ source }: { source: Schemas['CodeSource'] }) {
  const isLink = /^https:\/\//i.test(source.url);
  return (
    <>
      {isLink ? <a href={source.url} rel="noreferrer noopener" target="_blank"><bdi>{source.url}</bdi></a> : <bdi className="mono">{source.url}</bdi>}
      {[source.path, source.version].map((each) => each && <span key={each}> <bdi className="mono">{each}</bdi></span>)}
    </>
  );
}

/** The failed runs of a table that was never written. */
function FailedRuns({ rows }: { rows: readonly Schemas['HealthRun'][] }) {
  if (!rows.length) return null;
  return (
    <>
      <p className="dim">Failed runs that should have written it:</p>
      <DataTable
        name="failed-runs" rows={rows} total={rows.length} empty="None."
        columns={[
          { id: 'time', title: 'Time', value: (row) => time(row.time), width: '12rem' },
          { id: 'state', title: 'State', value: (row) => row.state, width: '7rem', show: (row) => <Chip kind={row.state}>{row.state}</Chip> },
          { id: 'error', title: 'Error', value: (row) => row.error, width: 'minmax(16rem, 4fr)' },
          { id: 'job', title: 'Job', value: (row) => row.job.name, width: 'minmax(10rem, 2fr)', show: (row) => <JobLink id={row.job} /> },
          { id: 'run', title: 'Run', value: (row) => row.id, width: '11rem', show: (row) => <RunLink id={row.id} /> },
        ]}
      />
    </>
  );
}

export function NotRefreshed({ rows, truncated = false }: { rows: readonly Schemas['NotRefreshed'][]; truncated?: boolean }) {
  if (!rows.length) return null;
  return (
    <>
      <p className="dim">Not written since:</p>
      <DataTable
        name="not-refreshed" rows={rows} total={rows.length} truncated={truncated} empty="None."
        columns={[
          { id: 'dataset', title: 'Dataset', value: (row) => row.dataset, width: 'minmax(12rem, 3fr)', show: (row) => <DatasetLink id={{ namespace: row.namespace, name: row.dataset }} /> },
          { id: 'distance', title: 'Distance', value: (row) => row.distance, width: '7rem' },
          { id: 'last', title: 'Last write', value: (row) => time(row.last_success), width: '12rem' },
          { id: 'since', title: 'Written by another run', value: (row) => (row.is_written_since ? 'yes' : 'no'), width: '10rem' },
        ]}
      />
    </>
  );
}
