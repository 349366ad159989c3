// Where tagged data, such as personal data, is readable, masked, or not provable.
import { ApiError, type Schemas } from '../api/client';
import { EXPOSURE_WORDS } from '../parts/exposureWords';
import { Code } from '../parts/Facets';
import { count, fieldOf, isoOf, time } from '../parts/format';
import type { ColumnName } from '../parts/links';
import { ListTable, type ListColumn } from '../parts/ListTable';
import { Chip, ColumnLink, JobLink } from '../parts/Names';
import { FormerNote } from '../parts/FormerLocations';
import { Page, Section } from '../parts/Page';
import { Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

type Item = Schemas['SurfaceItem'];

const ONCE = 'once_exposed'; // jobs no longer write unmasked values, but rows with unmasked values still exist
const TAGGED = 'tagged'; // the column has the tag itself

export function Surface() {
  const state = useAddressState();
  const tag = state.get('tag') || 'pii';
  const one = { namespace: state.get('namespace'), dataset: state.get('dataset'), column: state.get('column') };
  const only = state.get('exposure');
  const untagged = (error: Error) => !one.dataset && error instanceof ApiError && error.status === 404 && <NoTag tag={tag} others={error.nearest} onChoose={(other) => state.set({ tag: other })} />;
  return (
    <Page
      title="Personal data"
      hint={one.dataset ? <>Columns that receive values of <ColumnLink column={one} />.</> : <>Columns with the tag <b>{tag}</b>, and columns that receive their values. A column is readable if at least one path to it does not mask the values.</>}
      tools={
        <>
          <label>Tag <input value={one.dataset ? '' : tag} disabled={Boolean(one.dataset)} onChange={(event) => state.set({ tag: event.target.value }, true)} /></label>{' '}
          <label>
            Newly readable since (UTC){' '}
            <input type="datetime-local" step={1} value={fieldOf(state.get('since') || null)} onChange={(event) => state.set({ since: isoOf(event.target.value) })} />
          </label>
        </>
      }
    >
      {!one.dataset && !only && !state.get('since') && (
        <Section title="Tagged columns, readable ones first">
          <ListTable
            question="surface" parameters={{ tag, exposure: TAGGED }} usual="exposure" prefix="tagged_" insteadOfError={() => null}
            empty="No column has this tag itself; whole datasets have it." columns={COLUMNS}
          />
        </Section>
      )}
      <Section title={one.dataset ? 'Columns that receive its values' : 'All columns with these values'}>
        <ListTable
          question="surface" parameters={{ ...one, tag: one.dataset ? '' : tag, since: state.get('since'), exposure: only }} usual="exposure" insteadOfError={untagged}
          empty="No column receives these values. To tag columns, send a tags facet or edit tags.yaml in your rules folder." columns={COLUMNS}
        >
          {({ exposures }) => (
            <div className="filters" role="group" aria-label="Show only">
              {FILTERS.map(([each, title]) => (
                <button key={each} type="button" title={title} aria-pressed={only === each} onClick={() => state.set({ exposure: only === each ? '' : each })}>
                  <Chip kind={each}>{WORDS[each]}</Chip> {count(exposures[each])}
                </button>
              ))}
            </div>
          )}
        </ListTable>
      </Section>
    </Page>
  );
}

const WORDS = { ...EXPOSURE_WORDS, [TAGGED]: 'tagged' } as const;

const FILTERS = [
  ['exposed', 'At least one path to the column does not mask the values.'], ['unknown', 'No lineage proves that the values are masked.'], ['masked', 'Every path to the column masks the values.'],
  [ONCE, 'Jobs mask these values now, but rows written unmasked before still exist.'], [TAGGED, 'Columns that have the tag themselves.'],
] as const; // prettier-ignore

const COLUMNS: readonly ListColumn<Item>[] = [
  { id: 'exposure', sort: 'exposure', title: 'State', value: (row) => (row.tagged ? `${WORDS[row.exposure]} ${TAGGED}` : WORDS[row.exposure]), width: '11rem',
    show: (row) => <><Chip kind={row.exposure}>{WORDS[row.exposure]}</Chip>{row.earlier && <> <Chip kind="earlier">earlier</Chip></>}{row.tagged && <> <Chip kind="tag">{TAGGED}</Chip></>}</> },
  { id: 'column', sort: 'dataset', title: 'Column', value: (row) => `${row.namespace}/${row.dataset} ${row.column ?? ''}`, width: 'minmax(14rem, 3fr)', show: (row) => <><ColumnLink column={row} /><FormerNote of={row.former} /></> },
  { id: 'how', title: 'How', value: (row) => how(row.how), width: 'minmax(9rem, 2fr)' },
  { id: 'via', sort: 'from', title: 'From', value: (row) => row.via?.dataset, width: 'minmax(12rem, 2fr)', show: (row) => { const from = cameFrom(row); return from && <ColumnLink column={from} />; } },
  { id: 'job', sort: 'job', title: 'Job', value: (row) => row.via?.job.name, width: 'minmax(10rem, 2fr)', show: (row) => row.via && <JobLink id={row.via.job} /> },
  { id: 'until', sort: 'exposed_until', down: true, title: 'Readable until', value: (row) => time(row.exposed_until), width: '12rem', show: (row) => row.exposed_until && <Chip kind={ONCE}>{time(row.exposed_until)}</Chip> },
]; // prettier-ignore

const TAGS = `version: 1
tags:
  - dataset: "*"
    column: "*email*"
    tag: pii
`;

/** Shown instead of an error if no column has the tag: lists existing tags and explains how to add one. */
function NoTag({ tag, others, onChoose }: { tag: string; others: readonly string[]; onChoose: (tag: string) => void }) {
  return (
    <Section title="Unknown tag">
      <Empty>No column and no dataset is tagged <bdi className="strong">{tag}</bdi>.</Empty>
      {others.length > 0 && (
        <p className="filters">
          Existing tags: {others.map((other) => <button key={other} type="button" onClick={() => onChoose(other)}><bdi>{other}</bdi></button>)}
        </p>
      )}
      <Empty>Producers send tags in the dataset facet <code>tags</code>. You can add tags in <code>tags.yaml</code> in your rules folder; Headwater reads the file within a second:</Empty>
      <Code text={TAGS} label="Example of tags.yaml" />
    </Section>
  );
}

/** Return the previous column on the path, undefined if the job that wrote the column reports no column lineage. */
function cameFrom({ via }: Item): ColumnName | undefined {
  return via?.namespace !== undefined && via.dataset !== undefined ? { namespace: via.namespace, dataset: via.dataset, column: via.column } : undefined;
}

function how(step: Item['how']): string {
  return typeof step === 'string' ? step : [step.subtype ?? step.type, step.masking ? 'masks' : ''].filter(Boolean).join(', ').toLowerCase();
}
