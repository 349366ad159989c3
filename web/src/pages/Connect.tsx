// How to connect producers to this server: settings to copy, a test event, and the events that arrive.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';

import { request, type Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { useFeed } from '../api/live';
import { Tabs } from '../design/components';
import { Code } from '../parts/Facets';
import { to } from '../parts/links';
import { Chip } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Answered, Empty, Failure } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

export function Connect() {
  return (
    <Page title="Connect" hint="Copy the settings for your producer. They contain the address of this server. Replace YOUR_KEY with a key that has the role write; if this server has no keys, leave it out.">
      <FirstRun />
    </Page>
  );
}

/** Return whether no event is stored. It stays true when the first event arrives, so that the user sees its arrival. isIdle: whether the period of the page has no events. */
export function useIsEmpty(isIdle: boolean): boolean {
  const [isEmpty, setEmpty] = useState(false);
  const { data } = useQuestion('events', { limit: 1 }, { enabled: isIdle && !isEmpty });
  if (isIdle && !isEmpty && data?.totalCount === 0) setEmpty(true);
  return isEmpty;
}

/** The three steps to the first event, for an empty Headwater. */
export function FirstSteps() {
  const query = useSetups();
  const runs = useArrivals();
  return (
    <Answered query={query}>
      {(answer) => (
        <ol className="steps">
          <li>
            <Setups items={answer.items} title="Configure a producer" />
          </li>
          <li>
            <Section title="Send an event">
              <p className="dim">Run a job of your producer. Or send a test event from here:</p>
              <Trial event={answer.event} another={() => void query.refetch()} />
            </Section>
          </li>
          <li className={runs.length ? 'done' : undefined}>
            <Section title={runs.length ? 'The first event has arrived' : 'Waiting for the first event'}>
              <Arrivals />
              {runs.length > 0 && <p className="tools"><a className="button primary" href="/">Open the start page</a> <Link className="button" to="/lineage">Show lineage</Link></p>}
            </Section>
          </li>
        </ol>
      )}
    </Answered>
  );
}

/** The text of the set-ups must not change while the user copies it. */
const useSetups = () => useQuestion('connect', { url: location.origin }, { staleTime: 'static' });

function FirstRun() {
  const query = useSetups();
  return (
    <Answered query={query}>
      {(answer) => (
        <>
          <Setups items={answer.items} />
          <Section title="Try it">
            <Trial event={answer.event} another={() => void query.refetch()} />
            <Arrivals />
          </Section>
        </>
      )}
    </Answered>
  );
}

function Setups({ items, title = 'Connect a producer' }: { items: readonly Schemas['ProducerSetup'][]; title?: string }) {
  const state = useAddressState();
  const shown = items.find((each) => each.id === state.get('producer')) ?? items[0];
  return (
    <Section title={title}>
      {shown && <Tabs label="Producer" tabs={items.map((each) => [each.id, each.title])} value={shown.id} onChange={(producer) => state.set({ producer })} />}
      {shown && (
        <>
          <p className="setup-head">
            {shown.where} <Copy key={shown.id} text={shown.text} />
          </p>
          <Code text={shown.text} label={shown.title} />
        </>
      )}
    </Section>
  );
}

function Copy({ text }: { text: string }) {
  const copy = useMutation({ mutationFn: () => navigator.clipboard.writeText(text) });
  const message = copy.isSuccess ? 'Copied' : copy.isError ? 'The browser does not allow this page to copy. Select the text and press Ctrl-C.' : '';
  return (
    <>
      <button type="button" onClick={() => copy.mutate()}>Copy</button> <span role="status">{message}</span>
    </>
  );
}

/** Send a test event with the key of this tab. Each click sends a new event. */
function Trial({ event, another }: { event: string; another: () => void }) {
  const [answer, say] = useState<string>();
  const trial = useMutation({
    mutationFn: () => request<object>('/api/v1/lineage', {}, { method: 'POST', body: event }),
    onMutate: () => say(undefined),
    onSuccess: () => {
      say((JSON.parse(event) as { run: { runId: string } }).run.runId);
      another();
    },
  });
  return (
    <>
      <p>
        <button type="button" disabled={trial.isPending} onClick={() => trial.mutate()}>Send a test event</button>{' '}
        <span className="hint">Job headwater/arrival-check, without datasets. If this server has keys, your key needs the role write.</span>
      </p>
      {answer && <p role="status"><Chip kind="added">200</Chip> Headwater stored the event of run <Link to={to.run(answer)}><bdi>{answer}</bdi></Link>.</p>}
      {trial.error && <Failure error={trial.error} />}
    </>
  );
}

const useArrivals = () => useFeed().flatMap((each) => (each.kind === 'run' ? [each] : []));

/** Events that have arrived since the page was opened. */
function Arrivals() {
  const runs = useArrivals();
  if (runs.length === 0) return <Empty>No event has arrived since you opened this page. New events appear here immediately.</Empty>;
  return (
    <ul className="feed" aria-live="polite">
      {runs.slice(0, 10).map(({ id, value }, at) => (
        <li key={`${id} ${at}`}>
          <Chip kind={value.state}>{value.state}</Chip> <bdi>{value.job.namespace}</bdi>/<bdi>{value.job.name}</bdi>{' '}
          <Link to={to.run(value.run)}><bdi>{value.run}</bdi></Link>
        </li>
      ))}
    </ul>
  );
}
