// One column in one screen: what it is, where it comes from and goes, where it is readable, whether it can be dropped, and the evidence.
import { Link } from 'react-router';

import { ApiError, type Answer, type Schemas } from '../api/client';
import { useAddress, useQuestion } from '../api/hooks';
import { marquez, type Dataset } from '../api/marquez';
import { AnswerCard, Badge, type Tone } from '../design/components';
import { layerOf } from '../graph/layer';
import { stopSentences } from '../graph/stops';
import { systemOf } from '../graph/words';
import { CopyLink } from '../parts/CopyLink';
import { Derivation, Evidence, LastConfirmed, sinceOf, useDerivation } from '../parts/Derivation';
import { count, time } from '../parts/format';
import { shortName, to } from '../parts/links';
import { ColumnLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { testsOf } from '../parts/qualityTests';
import { Answered, Empty } from '../parts/States';
import { VERDICTS } from '../parts/verdicts';
import { useAddressState } from '../parts/useAddressState';

interface Named {
  namespace: string;
  dataset: string;
  column: string;
}
type Reached = Answer<'impact'>['columns'][number];

const NAMED = 4;
const MOST = 1_000;

export function Column() {
  const state = useAddressState();
  const column = { namespace: state.get('namespace'), dataset: state.get('dataset'), column: state.get('column') };
  const id = { namespace: column.namespace, name: column.dataset };
  const described = useAddress<Dataset>(marquez.dataset(id));
  const table = described.data?.displayName ?? shortName(column.dataset);
  return (
    <Page
      title={`${column.column} in ${table}`}
      hint={<bdi className="mono">{column.namespace}/{column.dataset}</bdi>}
      tools={<><CopyLink /><Link className="button" to={to.dataset(id)}>Dataset</Link><Link className="button primary" to={to.lineage(column)}>Lineage graph</Link></>}
    >
      <div className="answers">
        <What column={column} described={described} />
        <From column={column} />
        <Into column={column} />
        <Readable column={column} />
        <Droppable column={column} />
        <Since column={column} />
      </div>
      <Section title="How it is computed"><Derivation column={column} /></Section>
    </Page>
  );
}

function What({ column, described }: { column: Named; described: ReturnType<typeof useAddress<Dataset>> }) {
  const field = described.data?.fields.find((each) => each.name.toLowerCase() === column.column.toLowerCase());
  const tests = testsOf(described.data?.facets ?? {}).filter((each) => each.column.toLowerCase() === column.column.toLowerCase());
  const failed = tests.filter((each) => !each.passed);
  const layer = layerOf(column.dataset);
  const health = useQuestion('health', { namespace: column.namespace, dataset: column.dataset, limit: 1 });
  const owners = health.data?.about?.owners ?? [];
  return (
    <AnswerCard question="What is it?" icon="column" answer={<><bdi>{field?.type ?? 'Column'}</bdi>{field ? '' : ' of unknown type'}</>}>
      <Answered query={described}>{() => (
        <>
          <p>{field?.description ? <bdi>{field.description}</bdi> : <span className="dim">No description was sent.</span>}</p>
          <p className="badges">
            <Badge>{systemOf(column.namespace)[0]}</Badge>
            {layer && <span className={`layer is-${layer}`}>{layer}</span>}
            {field?.tags.map((tag) => <Badge key={tag} icon="tag" tone="accent">{tag}</Badge>)}
            {owners.map((owner) => <Badge key={owner.name} icon="owner">{owner.name}</Badge>)}
            {tests.length > 0 && <Badge icon="test" tone={failed.length ? 'bad' : 'good'}>{failed.length ? `${count(failed.length)} of ${count(tests.length)} tests failed` : `${count(tests.length)} tests passed`}</Badge>}
          </p>
          {!owners.length && <p className="dim">No owner was reported.</p>}
        </>
      )}</Answered>
    </AnswerCard>
  );
}

function From({ column }: { column: Named }) {
  const query = useQuestion('upstream', { ...column, limit: MOST });
  const columns = query.data?.columns ?? [];
  return (
    <AnswerCard question="Where does it come from?" icon="lineage" answer={query.data ? reachText(columns, query.data.truncated, 'No upstream column is known') : '…'}>
      <Answered query={query}>{(answer) => (
        <>
          <Nearest columns={columns} />
          <Stops stops={answer.stops} />
          {columns.length > 0 && <p><Link to={to.lineage(column, { down: 0 })}>Show upstream</Link></p>}
        </>
      )}</Answered>
    </AnswerCard>
  );
}

function Into({ column }: { column: Named }) {
  const query = useQuestion('impact', { ...column, mode: 'any', limit: MOST });
  const columns = query.data?.columns ?? [];
  return (
    <AnswerCard question="Where does it go?" icon="arrow" answer={query.data ? reachText(columns, query.data.truncated, 'No reported column depends on it') : '…'}>
      <Answered query={query}>{(answer) => (
        <>
          <Nearest columns={columns} />
          <Stops stops={answer.stops} />
          {columns.length > 0 && <p><Link to={to.impact(column)}>Show downstream</Link></p>}
        </>
      )}</Answered>
    </AnswerCard>
  );
}

/** Describe how many columns and tables were reached: `3 columns in 2 tables`. */
function reachText(columns: readonly Reached[], truncated: boolean, none: string): string {
  if (!columns.length) return none;
  const tables = new Set(columns.map((each) => `${each.namespace}/${each.dataset}`)).size;
  return `${count(columns.length)}${truncated ? ' or more' : ''} ${columns.length === 1 ? 'column' : 'columns'} in ${count(tables)} ${tables === 1 ? 'table' : 'tables'}`;
}

function Nearest({ columns }: { columns: readonly Reached[] }) {
  const sorted = [...columns].sort((a, b) => a.distance - b.distance);
  return (
    <ul>
      {sorted.slice(0, NAMED).map((each) => (
        <li key={`${each.namespace}/${each.dataset}#${each.column ?? ''}`}>
          <ColumnLink column={each} /> <span className="dim">{stepText(each)}</span>
        </li>
      ))}
      {sorted.length > NAMED && <li className="dim">and {count(sorted.length - NAMED)} more</li>}
    </ul>
  );
}

function stepText({ distance, masked, via }: Reached): string {
  const { type, subtype } = via.transformation;
  return [type === 'INDIRECT' ? `indirect ${(subtype ?? '').toLowerCase()}`.trim() : '', masked ? 'masked' : '', distance > 1 ? `${distance} steps` : ''].filter(Boolean).join(', ');
}

function Stops({ stops }: { stops: readonly Schemas['Stop'][] }) {
  const sentences = stopSentences(stops);
  return sentences.length > 0 && <p className="dim">{sentences.slice(0, 2).join(' ')}</p>;
}

function Readable({ column }: { column: Named }) {
  const query = useQuestion('surface', { ...column, limit: MOST });
  const readers = useQuestion('readers', { namespace: column.namespace, dataset: column.dataset, limit: 100 });
  const { exposed = 0, once_exposed: once = 0, unknown = 0, masked = 0 } = query.data?.exposures ?? {};
  const clear = query.data?.items.filter((each) => each.exposure === 'exposed') ?? [];
  const tone: Tone = exposed ? 'bad' : unknown || once ? 'warn' : 'good';
  const answer = exposed ? `Readable in ${count(exposed)} more ${exposed === 1 ? 'column' : 'columns'}` : once ? 'Earlier rows may be readable' : unknown ? 'Not proven to be masked' : 'Only here';
  const users = [...new Set(readers.data?.items.flatMap((each) => each.users) ?? [])];
  return (
    <AnswerCard question="Where can it be read in clear?" icon="readable" tone={query.data ? tone : 'plain'} answer={query.data ? answer : '…'}>
      <Answered query={query}>{() => (
        <>
          <ul>
            {clear.slice(0, NAMED).map((each) => <li key={`${each.namespace}/${each.dataset}#${each.column ?? ''}`}><ColumnLink column={each} /></li>)}
          </ul>
          <p className="dim">{count(masked)} masked, {count(unknown)} not proven{once > 0 && `, ${count(once)} readable earlier`}.</p>
          <p className="dim">This table was read by {readers.data?.runs ? <>{count(readers.data.runs)} runs{users.length > 0 && <> of <bdi>{users.slice(0, 3).join(', ')}</bdi></>}</> : 'no reported run'} in 90 days.</p>
          <p><Link to={to.surface(column)}>List all columns that receive its values</Link></p>
        </>
      )}</Answered>
    </AnswerCard>
  );
}

function Droppable({ column }: { column: Named }) {
  const query = useQuestion('unused', { namespace: column.namespace, dataset: column.dataset, limit: 10_000 });
  const item = query.data?.items.find((each) => each.column?.toLowerCase() === column.column.toLowerCase());
  const [answer, tone] = item ? VERDICTS[item.verdict] : (['Unknown', 'plain'] as const);
  return (
    <AnswerCard question="Can it be dropped?" icon="unused" tone={tone} answer={query.data ? answer : '…'}>
      <Answered query={query}>{() => item ? (
        <>
          <p><bdi>{item.reason}</bdi></p>
          {item.caveats.length > 0 && <ul>{item.caveats.map((each) => <li key={each}><bdi>{each}</bdi></li>)}</ul>}
          <p className="dim">{item.last_used ? `Last used ${time(item.last_used)}. ` : ''}{item.observed_since ? `Observed since ${time(item.observed_since)}.` : ''}</p>
        </>
      ) : <p className="dim">No schema and no column lineage names this column.</p>}</Answered>
    </AnswerCard>
  );
}

function Since({ column }: { column: Named }) {
  const { reasons, error, isPending } = useDerivation(column);
  const since = sinceOf(reasons);
  return (
    <AnswerCard question="Since when, and on what evidence?" icon="changes" answer={isPending ? '…' : since ? `Since ${time(since).slice(0, 10)}` : 'No evidence'}>
      {error && !(error instanceof ApiError && error.status === 404) && <Empty>{error.message}</Empty>}
      {!isPending && !reasons.length && <p className="dim">No job reports from which columns this column is computed.</p>}
      <Evidence reasons={reasons} />
      <LastConfirmed reasons={reasons} />
      <p><Link to={to.dataset({ namespace: column.namespace, name: column.dataset })}>Changes of the table</Link></p>
    </AnswerCard>
  );
}
