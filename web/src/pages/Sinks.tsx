// Sinks: state, dead letters, facets that a target cannot store, and actions such as pause and redrive.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';

import { ask, isTransient, part, queryText, request, type Schemas } from '../api/client';
import { AGAIN_MS, queryClient, useAddress } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { Code } from '../parts/Facets';
import { count, duration, time } from '../parts/format';
import { Chip, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Answered, Empty, Failure } from '../parts/States';
import { addSample, perSecond, type Sample } from '../parts/throughput';
import { useAddressState } from '../parts/useAddressState';

const LOOK_MS = 10_000;
const AT_ONCE = 100;
const LOSSES_OF = 500;

const EXAMPLE = `version: 1
sinks:
  catalog:
    type: marquez
    url: http://marquez.internal:5000
  archive:
    type: file
    folder: /srv/lineage
`;

type Sink = Schemas['SinkItem'] & { perSecond: number | undefined };
interface Answer {
  problem: string | null;
  sinks: Sink[];
}

const samplesBySink = new Map<string, Sample[]>();

/** Fetch all sinks, and compute the throughput of each from the answers of the last minute. */
async function sinksNow(signal: AbortSignal): Promise<Answer> {
  const { items, problem } = await ask('sinks', {}, signal);
  const at = performance.now();
  const sinks = items.map((item) => {
    const samples = addSample(samplesBySink.get(item.name) ?? [], { at, delivered: item.delivered });
    samplesBySink.set(item.name, samples);
    return { ...item, perSecond: perSecond(samples) };
  });
  return { problem, sinks };
}

const addressOf = (sink: string, what: string): string => `/api/headwater/v1/sinks/${part(sink)}/${what}`;

export function Sinks() {
  const state = useAddressState();
  const query = useQuery({
    queryKey: ['sinks', {}], queryFn: ({ signal }) => sinksNow(signal),
    refetchInterval: ({ state: { error } }) => (isTransient(error) ? AGAIN_MS : LOOK_MS),
  }); // prettier-ignore
  return (
    <Page title="Sinks" hint="Sinks deliver events from the lake to other systems. Each sink has its own position, so a slow sink delays no other.">
      <Answered query={query}>
        {({ problem, sinks }) => {
          const chosen = sinks.find((each) => each.name === state.get('sink')) ?? sinks.find((each) => each.trouble) ?? sinks[0];
          return (
            <>
              {problem && (
                <Section title="sinks.yml is not valid">
                  <Empty>{problem}</Empty>
                </Section>
              )}
              {chosen && <List sinks={sinks} />}
              {chosen && <About key={chosen.name} sink={chosen} />}
              {!chosen && !problem && <None />}
            </>
          );
        }}
      </Answered>
    </Page>
  );
}

function None() {
  return (
    <Section title="No sinks yet">
      <Empty>
        To deliver events to Marquez, DataHub, Purview, Kafka, files, another Headwater or any OpenLineage endpoint, create <code>sinks.yml</code> in the data folder.
        Headwater reads the file within a second, without a restart. A new sink starts with the oldest event in the lake.
      </Empty>
      <Code text={EXAMPLE} label="Example of sinks.yml" />
      <Empty>To test the connection, run <code>headwater sinks check catalog</code>. Keep secrets in the environment or in a key vault, not in the file.</Empty>
    </Section>
  );
}

function List({ sinks }: { sinks: Sink[] }) {
  return (
    <DataTable<Sink>
      name="sinks" rows={sinks} empty=""
      columns={[
        { id: 'name', title: 'Sink', value: (row) => row.name, width: 'minmax(7rem, 1fr)', show: (row) => <Link to={`/sinks${queryText({ sink: row.name })}`} className="name"><bdi>{row.name}</bdi></Link> },
        { id: 'type', title: 'Type', value: (row) => row.type, width: '7rem' },
        { id: 'state', title: 'State', value: (row) => row.state, width: '7rem', show: (row) => <Chip kind={row.state.replaceAll(' ', '-')}>{row.state}</Chip> },
        { id: 'events', title: 'Behind', value: (row) => row.behind.events, width: '6rem', show: (row) => <>{count(row.behind.events)}</> },
        { id: 'seconds', title: 'Delay', value: (row) => row.behind.seconds, width: '7rem', show: (row) => <>{row.behind.events > 0 && duration(row.behind.seconds * 1_000)}</> },
        { id: 'rate', title: 'Events/s', value: (row) => row.perSecond?.toFixed(1), width: '6rem' },
        { id: 'delivered', title: 'Delivered', value: (row) => row.delivered, width: '7rem', show: (row) => <>{count(row.delivered)}</> },
        { id: 'failed', title: 'Dead letters', value: (row) => row.failed, width: '7.5rem', show: (row) => <>{count(row.failed)}</> },
        { id: 'next', title: 'Next attempt', value: (row) => time(row.next_try), width: '11.5rem' },
        { id: 'trouble', title: 'Last error', value: (row) => row.trouble, width: 'minmax(12rem, 3fr)' },
      ]}
    />
  );
}

function About({ sink }: { sink: Sink }) {
  return (
    <>
      <Section title={`Sink ${sink.name}`} tools={<Pause sink={sink} />}>
        <dl className="about">
          <dt>State</dt><dd>{sink.state}{sink.state === 'not running' && ': start `headwater up`, which runs sinks'}</dd>
          <dt>Behind</dt>
          <dd>{sink.behind.events > 0 ? `${count(sink.behind.events)} events, the oldest ${duration(sink.behind.seconds * 1_000)} old` : 'up to date'}</dd>
          <dt>Filtered out</dt><dd>{count(sink.left_out)}</dd>
          {sink.trouble && <><dt>Last error</dt><dd><bdi>{sink.trouble}</bdi></dd></>}
          {sink.next_try && <><dt>Next attempt</dt><dd>{time(sink.next_try)} UTC</dd></>}
        </dl>
      </Section>
      <DeadLetters sink={sink} />
      <Losses sink={sink.name} />
    </>
  );
}

/** Send a command to a sink, then reload the sinks. */
function useOrder<T>(sink: string, order: string, query: object = {}) {
  return useMutation({
    mutationFn: () => request<T>(addressOf(sink, order), query, { method: 'POST' }),
    onSettled: () => queryClient.invalidateQueries({ predicate: ({ queryKey: [name] }) => String(name).includes('sinks') }),
  });
}

function Pause({ sink }: { sink: Sink }) {
  const isPaused = sink.state === 'paused';
  const order = useOrder<Schemas['SinkItem']>(sink.name, isPaused ? 'resume' : 'pause');
  return (
    <div>
      {order.error && <Failure error={order.error} />}
      <span className="hint">If this server has keys, your key needs the role admin.</span>{' '}
      <button type="button" disabled={order.isPending} onClick={() => order.mutate()}>{isPaused ? 'Resume' : 'Pause'}</button>
    </div>
  );
}

function DeadLetters({ sink }: { sink: Sink }) {
  const query = useAddress<Schemas['SinkFailures']>(addressOf(sink.name, 'failures'), { limit: 1_000 });
  const redrive = useOrder<Schemas['SinkRedriven']>(sink.name, 'redrive', { limit: AT_ONCE });
  return (
    <Section title="Dead letters">
      <Answered query={query}>
        {(answer) => (
          <>
            {answer.totalCount > 0 && (
              <button type="button" disabled={redrive.isPending} onClick={() => redrive.mutate()}>
                {redrive.isPending ? 'Sending …' : `Send ${count(Math.min(answer.totalCount, AT_ONCE))} again`}
              </button>
            )}
            {redrive.data && (
              <p role="status">{count(redrive.data.delivered)} delivered, {count(redrive.data.refused)} rejected again, {count(redrive.data.gone)} no longer in the lake</p>
            )}
            {redrive.error && <Failure error={redrive.error} />}
            <DataTable<Schemas['SinkFailure']>
              name="dead letters" rows={answer.items} total={answer.totalCount} truncated={answer.truncated} empty="No dead letters."
              columns={[
                { id: 'received', title: 'Received', value: (row) => time(row.received_at), width: '11.5rem' },
                { id: 'failed', title: 'Failed', value: (row) => time(row.failed_at), width: '11.5rem' },
                { id: 'run', title: 'Run', value: (row) => row.run_id, width: '11rem', show: (row) => row.run_id && <RunLink id={row.run_id} /> },
                { id: 'event', title: 'Event', value: (row) => row.event_id, width: '11rem', show: (row) => <bdi className="mono">{row.event_id.slice(0, 16)}</bdi> },
                { id: 'attempts', title: 'Attempts', value: (row) => row.attempts, width: '6rem' },
                { id: 'reason', title: 'Reason', value: (row) => row.reason, width: 'minmax(14rem, 3fr)' },
              ]}
            />
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Facets that a target cannot store. The question has an end time, so that new events do not repeat it, because the answer reads the lake. */
function Losses({ sink }: { sink: string }) {
  const state = useAddressState();
  const [until, setUntil] = useState(() => new Date().toISOString());
  const run = state.get('run');
  const query = useAddress<Schemas['SinkLosses']>(addressOf(sink, 'losses'), { run, until, limit: LOSSES_OF });
  return (
    <Section
      title="Not stored by the target"
      tools={
        <span className="tools">
          <label>Run <input value={run} placeholder="the newest events" onChange={(event) => state.set({ run: event.target.value }, true)} /></label>
          <button type="button" onClick={() => setUntil(new Date().toISOString())}>Refresh</button>
        </span>
      }
    >
      <Answered query={query}>
        {(answer) => (
          <>
            <p className="hint">
              {count(answer.events)} events{answer.truncated && ', the newest'}{answer.first && `, received ${time(answer.first)} to ${time(answer.last)} UTC`}
              {answer.left_out > 0 && `; the filter left out ${count(answer.left_out)} more`}. Rows with count 0 are parts that the target cannot store and that these events do not contain.
            </p>
            <DataTable<Schemas['SinkLoss']>
              name="losses" rows={answer.items} empty="This sink delivers events unchanged. Its target decides what to store."
              columns={[
                { id: 'held', title: 'Stored', value: (row) => row.held, width: '6rem', show: (row) => <Chip kind={row.held}>{row.held === 'not' ? 'no' : 'partly'}</Chip> },
                { id: 'part', title: 'Part', value: (row) => row.part, width: '11rem', show: (row) => <>{row.part === '*' ? 'other' : row.part}</> },
                { id: 'name', title: 'Name', value: (row) => row.name, width: 'minmax(10rem, 2fr)', show: (row) => <bdi>{row.name === '*' ? '' : row.name}</bdi> },
                { id: 'things', title: 'Count', value: (row) => row.things, width: '6rem', show: (row) => <>{count(row.things)}</> },
                { id: 'runs', title: 'Runs', value: (row) => row.runs, width: '6rem', show: (row) => <>{count(row.runs)}</> },
                { id: 'why', title: 'Reason', value: (row) => row.why, width: 'minmax(14rem, 3fr)' },
              ]}
            />
          </>
        )}
      </Answered>
    </Section>
  );
}
