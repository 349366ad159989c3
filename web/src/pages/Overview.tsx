// The start page: search, incidents, recently opened pages, and the state of Headwater. Each number links to the list that it counts.
import { lazy, Suspense, useContext, useMemo, useState } from 'react';
import { Link } from 'react-router';

import type { Answer, Schemas } from '../api/client';
import type { LiveEvent } from '../api/feed';
import { useQuestion } from '../api/hooks';
import { useFeed } from '../api/live';
import { Stat, Stats } from '../design/components';
import { Icon } from '../design/Icon';
import type { IconName } from '../design/icons';
import { DataTable } from '../parts/DataTable';
import { count, duration, time } from '../parts/format';
import { Incidents } from '../parts/Incidents';
import { shortName, to } from '../parts/links';
import { Chip, DatasetLink, JobLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Answered, Empty } from '../parts/States';
import { BEHIND_S } from '../shell/Behind';
import { address, identity, recent, type Found } from '../shell/found';
import { OpenSearchContext } from '../shell/openSearch';
import { FirstSteps, useIsEmpty } from './Connect';
import { useAddressState } from '../parts/useAddressState';
import { loadWithRetry } from '../shell/codeLoading';

const Bars = lazy(() => loadWithRetry(() => import('../parts/Bars')));

const WINDOWS = { '1h': ['Last hour', 3_600], '6h': ['6 hours', 21_600], '24h': ['24 hours', 86_400], '7d': ['7 days', 604_800],
  '365d': ['A year', 31_536_000] } as const; // prettier-ignore
type WindowName = keyof typeof WINDOWS;
const DEFAULT: WindowName = '24h'; // a failure during the night is still on the page in the morning

/** The start of the window, cut to whole minutes so that requests within one minute share a cache entry. */
function since(name: WindowName): string {
  return new Date(Math.floor(Date.now() / 60_000) * 60_000 - WINDOWS[name][1] * 1_000).toISOString();
}

export function Overview() {
  const state = useAddressState();
  const chosen = state.get('window');
  const name: WindowName = chosen in WINDOWS ? (chosen as WindowName) : DEFAULT;
  const query = useQuestion('overview', { from: since(name) });
  const isEmpty = useIsEmpty(query.data !== undefined && sum(query.data.events) === 0);
  return (
    <Page
      title={isEmpty ? 'Welcome to Headwater' : 'Start'}
      hint={isEmpty ? 'No event has arrived yet. Connect a producer in three steps; this page shows the first event as soon as it arrives.' : undefined}
      tools={!isEmpty && 
        <label>
          Period{' '}
          <select value={name} onChange={(event) => state.set({ window: event.target.value === DEFAULT ? '' : event.target.value })}>
            {Object.entries(WINDOWS).map(([key, [title]]) => <option key={key} value={key}>{title}</option>)}
          </select>
        </label>
      }
    >
      {isEmpty ? <FirstSteps /> : (
        <>
          <SearchBox />
          <div className="start">
            <Incidents />
            <Recent />
          </div>
          <Answered query={query}>{(answer) => <Figures answer={answer} />}</Answered>
          <LiveFeed />
        </>
      )}
    </Page>
  );
}

function SearchBox() {
  const openSearch = useContext(OpenSearchContext);
  return (
    <button type="button" className="search-box" onClick={openSearch}>
      <Icon name="search" size={20} /><span>Find a dataset, column, job or tag</span><kbd>/</kbd>
    </button>
  );
}

const FOUND_ICONS: Readonly<Record<Found['kind'], IconName>> = { alias: 'link', column: 'column', dataset: 'dataset', job: 'job', tag: 'tag' };

/** What the user opened from the search, the newest first. */
function Recent() {
  const [items] = useState(recent);
  return (
    <Section title="Recently opened">
      {items.length === 0 ? <Empty>What you open from the search appears here.</Empty> : (
        <ul className="recent">
          {items.map((each) => (
            <li key={identity(each)}>
              <Link to={address(each)}>
                <Icon name={FOUND_ICONS[each.kind]} />
                <span className="recent-name"><bdi>{each.column ?? each.display_name ?? shortName(each.name)}</bdi>{each.column && <span className="dim"> in <bdi>{each.display_name ?? shortName(each.name)}</bdi></span>}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

type Numbers = Answer<'overview'>;

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
const sums = (series: Readonly<Record<string, number[]>>): number => sum(Object.values(series).map(sum));

function Figures({ answer }: { answer: Numbers }) {
  const { window, runs } = answer;
  const minutes = (window.bucketSeconds * answer.events.length) / 60;
  const from = window.from;
  const events = useMemo(() => ({ events: answer.events }), [answer.events]);
  return (
    <>
      <Stats>
        <Stat label="Events per minute" link={to.events({ since: from })} value={(sum(answer.events) / minutes).toFixed(1)}>{count(sum(answer.events))} in this period</Stat>
        <Fresh freshness={answer.freshness} />
        <Stat label="Consumer lag" value={count(answer.pending)} tone={answer.pending > 10_000 ? 'warn' : 'plain'}>events in the log that are not in the lake yet</Stat>
        <Stat label="Failed runs" link="#failed" value={count(runs?.states.FAIL ?? 0)} tone={runs?.states.FAIL ? 'bad' : 'plain'}>in this period</Stat>
        <Stat label="Lost runs" link="#lost" value={count(runs?.lostCount ?? 0)} tone={runs?.lostCount ? 'bad' : 'plain'}>no event for 24 h, no end event</Stat>
        <Stat label="Rejected events" link="/rejected" value={count(sums(answer.rejected))} tone={sums(answer.rejected) ? 'bad' : 'plain'}>and {count(sums(answer.refused))} refused requests</Stat>
      </Stats>
      <div className="columns">
        <Chart title="Events received" series={events} window={window} empty="No events in this window. Events appear here when a producer sends them." />
        <Chart title="Runs by state" series={runs?.series ?? {}} window={window} empty="No runs in this window." />
        {sums(answer.rejected) > 0 && <Chart title="Rejected by reason" series={answer.rejected} window={window} empty="" />}
        {sums(answer.refused) > 0 && <Chart title="Refused by reason" series={answer.refused} window={window} empty="" />}
      </div>
      <Runs id="failed" title="Newest failed runs" runs={runs?.failed ?? []} total={(runs?.states.FAIL ?? 0) + (runs?.states.ABORT ?? 0)} empty="No failed runs in this window." />
      <Runs id="lost" title="Lost runs" runs={runs?.lost ?? []} total={runs?.lostCount ?? 0} empty="No lost runs." />
    </>
  );
}

/** Shows how far answers are behind. Gold has its own line, because no answer on these pages reads gold. */
function Fresh({ freshness: { seconds, log, bronze, gold } }: { freshness: Numbers['freshness'] }) {
  const waits = log >= bronze ? 'log' : 'lake';
  return (
    <Stat label="Freshness" value={seconds === 0 ? 'up to date' : duration(seconds * 1_000)} tone={seconds > BEHIND_S ? 'warn' : 'plain'}>
      {seconds === 0 ? 'answers include every event' : `age of the oldest event that is missing in answers; it waits in the ${waits}`}
      {gold && <div>Last gold pass: {time(gold.last_pass)}{gold.seconds > 0 && `, ${duration(gold.seconds * 1_000)} behind`}</div>}
    </Stat>
  );
}

function Chart({ title, series, window, empty }: { title: string; series: Record<string, number[]>; window: Numbers['window']; empty: string }) {
  return (
    <Section title={title}>
      {sums(series) === 0 ? <Empty>{empty}</Empty> : (
        <Suspense fallback={<div className="chart" />}>
          <Bars label={title} series={series} from={window.from} bucketSeconds={window.bucketSeconds} />
        </Suspense>
      )}
    </Section>
  );
}

function Runs({ id, title, runs, total, empty }: { id: string; title: string; runs: Schemas['OverviewRun'][]; total: number; empty: string }) {
  return (
    <div id={id}>
      <Section title={title}>
        <DataTable
          name={title.toLowerCase()} rows={runs} total={Math.max(total, runs.length)} empty={empty}
          columns={[
            { id: 'state', title: 'State', value: (row) => row.state, width: '7rem', show: (row) => <Chip kind={row.state}>{row.state}</Chip> },
            { id: 'job', title: 'Job', value: (row) => row.job.name, width: 'minmax(12rem, 3fr)', show: (row) => <JobLink id={row.job} /> },
            { id: 'run', title: 'Run', value: (row) => row.run, width: '11rem', show: (row) => <RunLink id={row.run} /> },
            { id: 'started', title: 'Started', value: (row) => time(row.started), width: '12rem' },
            { id: 'seen', title: 'Last event', value: (row) => time(row.last_seen), width: '12rem' },
          ]}
        />
      </Section>
    </div>
  );
}

function LiveFeed() {
  const items = useFeed();
  const edges = items.filter((each) => each.kind === 'edge').slice(0, 12);
  return (
    <div className="columns">
      <Section title="Newest lineage changes">
        {edges.length === 0 ? (
          <Empty>None since you opened this page. To see earlier ones, <Link to="/diff">compare two times</Link>.</Empty>
        ) : (
          <ul className="feed">{edges.map((each, at) => <li key={`${each.id} ${at}`}><EdgeLine value={each.value} /></li>)}</ul>
        )}
      </Section>
      <Section title="Live">
        {items.length === 0 ? <Empty>No events since you opened this page.</Empty> : (
          <ul className="feed" aria-live="polite">{items.slice(0, 30).map((each, at) => <li key={`${each.id} ${at}`}><FeedLine item={each} /></li>)}</ul>
        )}
      </Section>
    </div>
  );
}

function EdgeLine({ value: { change, from, to: into } }: { value: Schemas['EdgeHappened'] }) {
  return (
    <>
      <Chip kind={change === 'appeared' ? 'added' : 'removed'}>{change}</Chip>{' '}
      <DatasetLink id={{ namespace: from.namespace, name: from.dataset }} /> →{' '}
      <DatasetLink id={{ namespace: into.namespace, name: into.dataset }} />
    </>
  );
}

function FeedLine({ item: { kind, value } }: { item: LiveEvent }) {
  if (kind === 'edge') return <EdgeLine value={value} />;
  if (kind === 'run')
    return (
      <>
        <Chip kind={value.state}>{value.state}</Chip> <JobLink id={value.job} /> <RunLink id={value.run} />
      </>
    );
  return (
    <>
      <Chip kind="fail">{kind}</Chip> <Link to="/rejected">{value.reason}</Link> <bdi>{value.message}</bdi>
    </>
  );
}
