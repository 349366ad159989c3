// One dataset: columns with type, tags, lineage, exposure and verdict; readers and writers; versions; facets.
import { Link } from 'react-router';

import type { Answer } from '../api/client';
import { useAddress, useQuestion } from '../api/hooks';
import { marquez, type Dataset as Described, type Id, type Versions as Listed } from '../api/marquez';
import { ContractButton } from '../parts/ContractButton';
import { DataTable } from '../parts/DataTable';
import { useGranularity } from '../parts/granularity';
import { GranularitySwitch } from '../parts/GranularitySwitch';
import { Facets } from '../parts/Facets';
import { time } from '../parts/format';
import { HealthSection } from '../parts/HealthSection';
import { to } from '../parts/links';
import { Chip, ColumnQuestions, JobLink, RunLink } from '../parts/Names';
import { Page, Section } from '../parts/Page';
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
      tools={<><ContractButton parameters={parameters} /><Link className="button" to={to.lineage(parameters)}>Lineage</Link></>}
    >
      <Answered query={described}>
        {(dataset) => (
          <>
            <About id={id} dataset={dataset} />
            <HealthSection parameters={parameters} />
            <VolumeCharts parameters={parameters} />
            <Columns id={id} dataset={dataset} />
            <Answered query={neighbourhood}>{(answer) => <Jobs answer={answer} />}</Answered>
            <Readers id={id} />
            <Changes id={id} />
            <Versions id={id} />
            <Section title="Facets"><Facets facets={dataset.facets} /></Section>
          </>
        )}
      </Answered>
    </Page>
  );
}

function About({ id, dataset }: { id: Id; dataset: Described }) {
  const found = useQuestion('search', { q: id.name.slice(-60), kinds: 'alias', limit: 60 });
  const aliases = aliasesOf(id, dataset.facets, found.data?.items ?? []);
  return (
    <dl className="about">
      {dataset.deleted && <><dt>State</dt><dd><Chip kind="fail">dropped</Chip></dd></>}
      <dt>Aliases</dt>
      <dd>{aliases.length ? aliases.map((alias) => <bdi key={alias} className="chip mono">{alias}</bdi>) : 'none'}</dd>
      <dt>First and last seen</dt>
      <dd>{time(dataset.createdAt)} – {time(dataset.updatedAt)}</dd>
    </dl>
  );
}

function Columns({ id, dataset }: { id: Id; dataset: Described }) {
  const parameters = { namespace: id.namespace, dataset: id.name };
  const verdicts = useQuestion('unused', { ...parameters, limit: 10_000 });
  const surface = useQuestion('surface', { text: id.name, limit: 10_000 });
  const rows = columnsOf(dataset, verdicts.data?.items ?? [], surface.data);
  return (
    <Section title="Columns">
      <DataTable<ColumnRow>
        name="columns" rows={rows} empty="No columns are known: no event has a schema or column lineage for this dataset."
        columns={[
          { id: 'name', title: 'Column', value: (row) => row.name, width: 'minmax(10rem, 2fr)',
            show: (row) => <Link className="name mono" to={to.lineage({ ...parameters, column: row.name })}><bdi>{row.name}</bdi></Link> },
          { id: 'type', title: 'Type', value: (row) => row.type, width: 'minmax(6rem, 1fr)' },
          { id: 'tags', title: 'Tags', value: (row) => row.tags.join(' '), width: 'minmax(5rem, 1fr)',
            show: (row) => row.tags.map((tag) => <bdi key={tag} className="chip">{tag}</bdi>) },
          { id: 'exposure', title: 'Personal data', value: (row) => row.exposure, width: '8rem',
            show: (row) => row.exposure && <Chip kind={row.exposure}>{row.exposure}</Chip> },
          { id: 'verdict', title: 'Used', value: (row) => row.verdict, width: '7rem',
            show: (row) => row.verdict && <span title={row.reason}><Chip kind={row.verdict}>{row.verdict}</Chip></span> },
          { id: 'from', title: 'Upstream columns', value: (row) => row.madeOf.join(', '), width: 'minmax(12rem, 3fr)' },
          { id: 'description', title: 'Description', value: (row) => row.description, width: 'minmax(8rem, 2fr)' },
          { id: 'ask', title: 'Questions', value: () => '', width: '12rem',
            show: (row) => <ColumnQuestions column={{ ...parameters, column: row.name }} /> },
        ]}
      />
    </Section>
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
