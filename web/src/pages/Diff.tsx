// What changed between two times: column lineage, and tables, columns, owners, tags and jobs.
import { useState } from 'react';
import { Link } from 'react-router';

import type { QuestionParameters, Schemas } from '../api/client';
import { useQuestion } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { Code } from '../parts/Facets';
import { count, fieldOf, isoOf, time } from '../parts/format';
import { to } from '../parts/links';
import { ListTable } from '../parts/ListTable';
import { Chip, ColumnLink, DatasetLink, JobLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { Answered, Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

export function Diff() {
  const state = useAddressState();
  const parameters = { from: state.get('from'), to: state.get('to'), limit: 10_000 };
  const options = { enabled: parameters.from !== '' };
  const changes = useQuestion('changes', parameters, options);
  const field = (name: 'from' | 'to', title: string) => (
    <label>
      {title}{' '}
      <input type="datetime-local" step={1} value={fieldOf(parameters[name] || null)} onChange={(event) => state.set({ [name]: isoOf(event.target.value) })} />
    </label>
  );
  return (
    <Page title="Changes" hint="All times are event times in UTC." tools={<>{field('from', 'From')} {field('to', 'to (now if empty)')}</>}>
      <Presets />
      {parameters.from === '' ? <Empty>Choose a start time to see what changed.</Empty> : (
        <>
          <Section title="Tables, columns, owners, tags, jobs">
            <Answered query={changes}>{(answer) => <OtherChanges answer={answer} />}</Answered>
          </Section>
          {!changes.error && <Section title="Lineage"><Edges parameters={{ from: parameters.from, to: parameters.to }} from={changes.data?.from} until={changes.data?.to} /></Section>}
        </>
      )}
    </Page>
  );
}

const WORDS = [['last_green', 'the last green run of job'], ['deploy', 'deploy'], ['run', 'run']] as const;

/** Named start times, such as the last green run. The address keeps the name, so that a link stays valid. */
function Presets() {
  const state = useAddressState();
  const from = state.get('from');
  const [word = '', ...rest] = from.split(':');
  const isWord = WORDS.some(([known]) => known === word);
  const [of, say] = useState(isWord ? rest.join(':') : '');
  const [chosen, choose] = useState<string>(isWord ? word : 'last_green');
  const preset = (moment: string, title: string) => (
    <button key={title} type="button" className="quiet" aria-pressed={from === moment} onClick={() => state.set({ from: moment, to: '' })}>{title}</button>
  );
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        state.set({ from: of.trim() ? `${chosen}:${of.trim()}` : chosen, to: '' });
      }}
    >
      Since {preset('yesterday', 'yesterday')} {[7, 30, 365].map((days) => <Ago key={days} days={days} />)} {preset('deploy', 'the newest deploy')}
      <select aria-label="Start event" value={chosen} onChange={(event) => choose(event.target.value)}>
        {WORDS.map(([known, title]) => <option key={known} value={known}>{title}</option>)}
      </select>
      <input aria-label="Name or id" placeholder={chosen === 'deploy' ? 'version or git sha' : chosen === 'run' ? 'run id' : 'job'} value={of} onChange={(event) => say(event.target.value)} />
      <button type="submit" disabled={!of.trim()}>Show</button>
    </form>
  );
}

function Ago({ days }: { days: number }) {
  const state = useAddressState();
  const choose = () => state.set({ from: new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 19) + 'Z', to: '' });
  return <button type="button" className="quiet" onClick={choose}>{days} days ago</button>;
}

function OtherChanges({ answer }: { answer: Schemas['Changes'] }) {
  const counts = Object.entries(answer.counts);
  return (
    <>
      <p className="filters">
        From {time(answer.from)} to {answer.to ? time(answer.to) : 'now'}
        {counts.map(([thing, many]) => <span key={thing} className="chip">{thing} {count(many)}</span>)}
      </p>
      <DataTable<Schemas['ChangeItem']>
        name="changes" rows={answer.items} total={answer.totalCount} truncated={answer.truncated} empty="No tables, columns, owners, tags or jobs changed between these times."
        columns={[
          { id: 'time', title: 'First reported', value: (row) => time(row.time), width: '12rem' },
          { id: 'change', title: 'Change', value: (row) => row.change, width: '7rem', show: (row) => <Chip kind={row.change}>{row.change}</Chip> },
          { id: 'thing', title: 'Kind', value: (row) => row.thing, width: '6rem' },
          { id: 'name', title: 'Name', value: (row) => `${row.name}${row.column ? `#${row.column}` : ''}`, width: 'minmax(12rem, 3fr)', show: (row) => <ChangedItemLink row={row} /> },
          { id: 'before', title: 'Before', value: (row) => row.before, width: 'minmax(8rem, 2fr)', show: (row) => <ChangedValue text={row.before} of={row.thing} /> },
          { id: 'after', title: 'After', value: (row) => row.after, width: 'minmax(8rem, 2fr)', show: (row) => <ChangedValue text={row.after} of={row.thing} /> },
          { id: 'job', title: 'Job', value: (row) => row.job?.name, width: 'minmax(9rem, 2fr)', show: (row) => row.job && <JobLink id={row.job} /> },
          { id: 'run', title: 'Run', value: (row) => row.run, width: '11rem', show: (row) => row.run && <RunLink id={row.run} /> },
        ]}
      />
    </>
  );
}

function ChangedValue({ text, of }: { text: string | null; of: string }) {
  return of === 'sql' && text !== null ? <Code text={text} label="SQL" /> : <bdi>{text}</bdi>;
}

function ChangedItemLink({ row }: { row: Schemas['ChangeItem'] }) {
  const id = { namespace: row.namespace, name: row.name };
  if (row.of === 'job') return <JobLink id={id} />;
  return row.column === null ? <DatasetLink id={id} /> : <ColumnLink column={{ namespace: row.namespace, dataset: row.name, column: row.column }} />;
}

function Edges({ parameters, from, until }: { parameters: QuestionParameters<'diff'>; from?: string | undefined; until?: string | null | undefined }) {
  const state = useAddressState();
  const change = state.get('change');
  return (
    <ListTable
      question="diff" parameters={{ ...parameters, change }} usual="to_namespace" empty="No lineage changed between these times."
      columns={[
        { id: 'change', sort: 'change', title: 'Change', value: (row) => row.change, width: '8rem', show: (row) => <Chip kind={row.change}>{row.change}</Chip> },
        { id: 'from', sort: 'from', title: 'From', value: (row) => `${row.from.dataset} ${row.from.column ?? ''}`, width: 'minmax(12rem, 3fr)', show: (row) => <ColumnLink column={row.from} /> },
        { id: 'to', sort: 'to', title: 'To', value: (row) => `${row.to.dataset} ${row.to.column ?? ''}`, width: 'minmax(12rem, 3fr)', show: (row) => <ColumnLink column={row.to} /> },
        { id: 'type', sort: 'type', title: 'Type', value: (row) => `${row.type}${row.masked ? ', masks' : ''}`.toLowerCase(), width: '9rem' },
        { id: 'job', sort: 'job', title: 'Job', value: (row) => row.job.name, width: 'minmax(10rem, 2fr)', show: (row) => <JobLink id={row.job} /> },
        { id: 'see', title: 'Open', value: () => '', width: '6rem', show: (row) => <Link to={to.lineage(row.to, { since: from, asOf: until })}>Graph</Link> },
      ]}
    >
      {(answer) => (
        <div className="filters" role="group" aria-label="Show only">
          {(['added', 'removed', 'changed'] as const).map((each) => (
            <button key={each} type="button" aria-pressed={change === each} onClick={() => state.set({ change: change === each ? '' : each })}>
              <Chip kind={each}>{each}</Chip> {count(answer[each])}
            </button>
          ))}
        </div>
      )}
    </ListTable>
  );
}
