// One dataset: health, owners, description and tests, then columns, readers and writers, changes, versions and facets.
import { Link } from 'react-router';

import type { Answer, Schemas } from '../api/client';
import { useAddress, useQuestion } from '../api/hooks';
import { marquez, type Dataset as Described, type Id, type Versions as Listed } from '../api/marquez';
import { Badge, Stat, Stats, type Tone } from '../design/components';
import { layerOf } from '../graph/layer';
import { systemOf } from '../graph/words';
import { ContractButton } from '../parts/ContractButton';
import { CopyLink } from '../parts/CopyLink';
import { DataTable } from '../parts/DataTable';
import { useGranularity } from '../parts/granularity';
import { GranularitySwitch } from '../parts/GranularitySwitch';
import { EXPOSURE_WORDS } from '../parts/exposureWords';
import { Facets } from '../parts/Facets';
import { ago, count, time } from '../parts/format';
import { HealthSection } from '../parts/HealthSection';
import { to } from '../parts/links';
import { Chip, JobLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
import { testsOf, type QualityTest } from '../parts/qualityTests';
import { Readers } from '../parts/Readers';
import { Answered, Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';
import { VolumeCharts } from '../parts/VolumeCharts';
import { columnsOf, type ColumnRow } from './columns';
import { aliasesOf } from './aliases';

export function Dataset() {
  const state = useAddressState();
  const id = { namespace: state.get('namespace'), name: state.get('name') };
  const parameters = { namespace: id.namespace, dataset: id.name };
  const described = useAddress<Described>(marquez.dataset(id));
  const [granularity] = useGranularity();
  const neighbourhood = useQuestion('lineage', { ...parameters, up: 1, down: 1, granularity, system: 'true' });
  return (
    <Page
      title={described.data?.displayName ?? id.name}
      hint={<bdi className="mono">{described.data?.displayName ? `${id.namespace}/${id.name}` : id.namespace}</bdi>}
      tools={<><CopyLink /><ContractButton parameters={parameters} /><Link className="button primary" to={to.lineage(parameters)}>Lineage graph</Link></>}
    >
      <Answered query={described}>
        {(dataset) => (
          <>
            <Summary id={id} dataset={dataset} />
            <HealthSection parameters={parameters} />
            <Tests dataset={dataset} />
            <VolumeCharts parameters={parameters} />
            <Columns id={id} dataset={dataset} />
            <Answered query={neighbourhood}>{(answer) => <Jobs answer={answer} />}</Answered>
            <div id="readers"><Readers id={id} /></div>
            <div id="changes"><Changes id={id} /></div>
            <Versions id={id} />
            <About id={id} dataset={dataset} />
            <Section title="Facets"><Facets facets={dataset.facets} /></Section>
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Health, owners, description and size at a glance. The questions are those of the sections below, so each is asked once. */
function Summary({ id, dataset }: { id: Id; dataset: Described }) {
  const parameters = { namespace: id.namespace, dataset: id.name };
  const health = useQuestion('health', { ...parameters, limit: 200 });
  const readers = useQuestion('readers', { namespace: id.namespace, dataset: id.name });
  const [item] = health.data?.items ?? [];
  const owners = health.data?.about?.owners ?? [];
  const tests = testsOf(dataset.facets);
  const failed = tests.filter((each) => !each.passed).length;
  const layer = layerOf(id.name);
  return (
    <>
      <p className="badges">
        <Badge>{systemOf(id.namespace)[0]}</Badge>
        {layer && <span className={`layer is-${layer}`}>{layer}</span>}
        {dataset.deleted && <Chip kind="fail">dropped</Chip>}
        {dataset.tags.map((tag) => <Badge key={tag} icon="tag" tone="accent">{tag}</Badge>)}
        {dataset.description ? <bdi>{dataset.description.slice(0, 400)}</bdi> : <span className="dim">No description was sent.</span>}
      </p>
      <Stats>
        <Stat label="Health" value={item && item.status !== 'unknown' ? HEALTH_WORDS[item.status] : 'unknown'} tone={toneOf(item?.status)}>{item?.reason}</Stat>
        <Stat label="Last write" value={item?.last_success ? ago(item.last_success) : 'none'}>{time(item?.last_success)}</Stat>
        <Stat label="Owner" value={owners[0]?.name ?? 'none'}>{owners.length > 1 ? `and ${count(owners.length - 1)} more` : owners.length ? 'as reported' : 'no owner was reported'}</Stat>
        <Stat label="Tests" value={tests.length ? failed ? `${count(failed)} failed` : `${count(tests.length)} passed` : 'none'} tone={failed ? 'bad' : tests.length ? 'good' : 'plain'} {...(tests.length > 0 && { link: '#tests' })}>{tests.length ? `of ${count(tests.length)}, last reported` : 'no test was reported'}</Stat>
        <Stat label="Columns" value={count(dataset.fields.length)} link="#columns">in the newest schema</Stat>
        <Stat label="Reads" value={count(readers.data?.runs ?? 0)} link="#readers">runs in 90 days</Stat>
      </Stats>
    </>
  );
}

const HEALTH_WORDS = { ok: 'on time', late: 'late', stale: 'stale', failed: 'failed' } as const;

function toneOf(status: Schemas['HealthItem']['status'] | undefined): Tone {
  return status === 'ok' ? 'good' : status === 'failed' ? 'bad' : status === 'late' || status === 'stale' ? 'warn' : 'plain';
}

function Tests({ dataset }: { dataset: Described }) {
  const tests = testsOf(dataset.facets);
  if (!tests.length) return null;
  return (
    <div id="tests">
      <Section title="Tests">
        <DataTable<QualityTest>
          name="tests" rows={tests} empty="No test was reported."
          columns={[
            { id: 'result', title: 'Result', value: (row) => (row.passed ? 'passed' : 'failed'), width: '7rem', show: (row) => <Badge tone={row.passed ? 'good' : 'bad'} icon={row.passed ? 'ok' : 'failed'}>{row.passed ? 'passed' : 'failed'}</Badge> },
            { id: 'name', title: 'Test', value: (row) => row.name, width: 'minmax(12rem, 3fr)' },
            { id: 'column', title: 'Column', value: (row) => row.column, width: 'minmax(8rem, 1fr)', show: (row) => row.column && <Link className="mono" to={to.column({ namespace: dataset.id.namespace, dataset: dataset.id.name, column: row.column })}><bdi>{row.column}</bdi></Link> },
            { id: 'expected', title: 'Expected', value: (row) => row.expected, width: '8rem' },
            { id: 'actual', title: 'Actual', value: (row) => row.actual, width: '8rem' },
          ]}
        />
      </Section>
    </div>
  );
}

function About({ id, dataset }: { id: Id; dataset: Described }) {
  const found = useQuestion('search', { q: id.name.slice(-60), kinds: 'alias', limit: 60 });
  const aliases = aliasesOf(id, dataset.facets, found.data?.items ?? []);
  return (
    <Section title="Names and times">
      <dl className="about">
        <dt>Aliases</dt>
        <dd>{aliases.length ? aliases.map((alias) => <bdi key={alias} className="chip mono">{alias}</bdi>) : 'none'}</dd>
        <dt>First and last seen</dt>
        <dd>{time(dataset.createdAt)} – {time(dataset.updatedAt)}</dd>
      </dl>
    </Section>
  );
}

const exposureText = (exposure: string): string => (EXPOSURE_WORDS as Readonly<Record<string, string>>)[exposure] ?? exposure;

function Columns({ id, dataset }: { id: Id; dataset: Described }) {
  const parameters = { namespace: id.namespace, dataset: id.name };
  const verdicts = useQuestion('unused', { ...parameters, limit: 10_000 });
  const surface = useQuestion('surface', { text: id.name, limit: 10_000 });
  const rows = columnsOf(dataset, verdicts.data?.items ?? [], surface.data);
  return (
    <div id="columns"><Section title="Columns">
      <DataTable<ColumnRow>
        name="columns" rows={rows} empty="No columns are known: no event has a schema or column lineage for this dataset."
        columns={[
          { id: 'name', title: 'Column', value: (row) => row.name, width: 'minmax(10rem, 2fr)',
            show: (row) => <Link className="name mono" to={to.column({ ...parameters, column: row.name })}><bdi>{row.name}</bdi></Link> },
          { id: 'type', title: 'Type', value: (row) => row.type, width: 'minmax(6rem, 1fr)' },
          { id: 'tags', title: 'Tags', value: (row) => row.tags.join(' '), width: 'minmax(5rem, 1fr)',
            show: (row) => row.tags.map((tag) => <bdi key={tag} className="chip">{tag}</bdi>) },
          { id: 'exposure', title: 'Personal data', value: (row) => row.exposure, width: '8rem',
            show: (row) => row.exposure && <Chip kind={row.exposure}>{exposureText(row.exposure)}</Chip> },
          { id: 'verdict', title: 'Used', value: (row) => row.verdict, width: '7rem',
            show: (row) => row.verdict && <span title={row.reason}><Chip kind={row.verdict}>{row.verdict}</Chip></span> },
          { id: 'from', title: 'Upstream columns', value: (row) => row.madeOf.join(', '), width: 'minmax(12rem, 3fr)' },
          { id: 'description', title: 'Description', value: (row) => row.description, width: 'minmax(8rem, 2fr)' },
          { id: 'graph', title: 'Graph', value: () => '', width: '5rem', show: (row) => <Link to={to.lineage({ ...parameters, column: row.name })} aria-label={`Lineage graph of ${row.name}`}>lineage</Link> },
        ]}
      />
    </Section></div>
  );
}

function Jobs({ answer }: { answer: Answer<'lineage'> }) {
  const here = answer.tables.findIndex((table) => table.distance === 0);
  const jobs = (side: 'from' | 'to') => {
    const found = answer.tableEdges.filter((edge) => edge[side] === here).flatMap((edge) => edge.jobs);
    return [...new Map(found.map((job) => [`${job.namespace}\n${job.name}`, job])).values()];
  };
  return (
    <div className="columns">
      {([['Written by', jobs('to'), 'No reported job writes this dataset.'], ['Read by', jobs('from'), 'No reported job reads this dataset to write another one.']] as const).map(
        ([title, found, none]) => (
          <Section key={title} title={title} tools={title === 'Read by' && <GranularitySwitch />}>
            {found.length ? <ul className="plain">{found.map((job) => <li key={job.namespace + job.name}><JobLink id={job} /></li>)}</ul> : <Empty>{none}</Empty>}
          </Section>
        ),
      )}
    </div>
  );
}

function Changes({ id }: { id: Id }) {
  const query = useQuestion('timeline', { namespace: id.namespace, dataset: id.name, limit: 200 });
  return (
    <Section title="Lineage changes">
      <Answered query={query}>
        {(answer) => (
          <DataTable
            name="timeline" rows={answer.items} total={answer.totalCount} truncated={answer.truncated}
            empty="The upstream lineage never changed, or the jobs that write this dataset do not report what they read."
            columns={[
              { id: 'time', title: 'Time', value: (row) => time(row.time), width: '12rem' },
              { id: 'change', title: 'Change', value: (row) => row.change, width: '7rem', show: (row) => <Chip kind={row.change}>{row.change}</Chip> },
              { id: 'masked', title: 'Masked', value: (row) => (row.masked ? 'masked' : ''), width: '6rem' },
              { id: 'from', title: 'From', value: (row) => (row.from ? `${row.from.dataset} ${row.from.column ?? ''}` : ''), width: 'minmax(12rem, 3fr)' },
              { id: 'to', title: 'To column', value: (row) => row.to.column, width: 'minmax(8rem, 1fr)' },
              { id: 'job', title: 'Job', value: (row) => row.job.name, width: 'minmax(10rem, 2fr)', show: (row) => <JobLink id={row.job} /> },
            ]}
          />
        )}
      </Answered>
    </Section>
  );
}

function Versions({ id }: { id: Id }) {
  const query = useAddress<Listed>(marquez.versions(id), { limit: 100 });
  return (
    <Section title="Versions">
      <Answered query={query}>
        {(answer) => (
          <DataTable
            name="versions" rows={answer.versions} total={answer.totalCount} empty="No run has written this dataset."
            columns={[
              { id: 'created', title: 'First written', value: (row) => time(row.createdAt), width: '12rem' },
              { id: 'version', title: 'Version', value: (row) => row.version, width: 'minmax(12rem, 2fr)' },
              { id: 'external', title: "Producer's version", value: (row) => row.externalVersion, width: '10rem' },
              { id: 'columns', title: 'Columns', value: (row) => row.fields.length, width: '6rem' },
              { id: 'state', title: 'Change', value: (row) => row.lifecycleState, width: '8rem' },
              { id: 'run', title: 'Run', value: (row) => row.createdByRun?.id, width: '11rem', show: (row) => row.createdByRun && <RunLink id={row.createdByRun.id} /> },
            ]}
          />
        )}
      </Answered>
    </Section>
  );
}
