// How producers are pointed at this Headwater: what to copy, an event to try with, and what comes in.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';

import { request, type Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { useFeed } from '../api/live';
import { Code } from '../parts/Facets';
import { to } from '../parts/links';
import { Chip } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Answered, Empty, Failure } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

export function Connect() {
  return (
    <Page title="Connect" hint="What to copy, with the address of this server. YOUR_KEY is a key with the role write; a Headwater without keys reads none.">
      <FirstRun />
    </Page>
  );
}

/** What an empty lake shows; it stays when the first event comes, which is what one waits for here. */
export function WhileEmpty({ isIdle }: { isIdle: boolean }) {
  const [shown, show] = useState(false);
  const { data } = useQuestion('events', { limit: 1 }, { enabled: isIdle && !shown });
  if (isIdle && !shown && data?.totalCount === 0) show(true);
  return shown && <FirstRun />;
}

function FirstRun() {
  const query = useQuestion('connect', { url: location.origin }, { staleTime: 'static' }); // what is being copied stays as it is
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

function Setups({ items }: { items: readonly Schemas['ProducerSetup'][] }) {
  const state = useAddressState();
  const shown = items.find((each) => each.id === state.get('producer')) ?? items[0];
  return (
    <Section title="Point a producer here">
      <p className="filters" role="group" aria-label="Producer">
        {items.map((each) => (
          <button key={each.id} type="button" className="quiet" aria-pressed={each === shown} onClick={() => state.set({ producer: each.id })}>
            {each.title}
          </button>
        ))}
      </p>
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
  const said = copy.isSuccess ? 'Copied' : copy.isError ? 'The browser does not let this page copy: mark the text and press Ctrl-C' : '';
  return (
    <>
      <button type="button" onClick={() => copy.mutate()}>Copy</button> <span role="status">{said}</span>
    </>
  );
}

/** Posts an event with the key of this tab; the next one is another. */
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
        <span className="hint">of the job headwater/arrival-check, which names no dataset; it needs the role write where there are keys</span>
      </p>
      {answer && <p role="status"><Chip kind="added">200</Chip> It is on disk: run <Link to={to.run(answer)}><bdi>{answer}</bdi></Link>.</p>}
      {trial.error && <Failure error={trial.error} />}
    </>
  );
}

/** The first events, as they come. */
function Arrivals() {
  const runs = useFeed().flatMap((each) => (each.kind === 'run' ? [each] : []));
  if (runs.length === 0) return <Empty>Nothing has come in since this page was opened; what comes shows here at once.</Empty>;
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
