// Where personal data, or what else is tagged, can be read, is masked, or may be either.
import { Refused, type Schemas } from '../api/client';
import { Code } from '../parts/Facets';
import { count, fieldOf, isoOf, time } from '../parts/format';
import type { ColumnName } from '../parts/links';
import { ListTable } from '../parts/ListTable';
import { Chip, ColumnLink, JobLink } from '../parts/Names';
import { Former } from '../parts/FormerLocations';
import { Page, Section } from '../parts/Page';
import { Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

type Item = Schemas['SurfaceItem'];

const ONCE = 'once_exposed'; // not written in the clear now, but before, and the rows are still there
const TAGGED = 'tagged'; // has the tag itself

export function Surface() {
  const state = useAddressState();
  const tag = state.get('tag') || 'pii';
  const one = { namespace: state.get('namespace'), dataset: state.get('dataset'), column: state.get('column') };
  const only = state.get('exposure');
  const untagged = (error: Error) => !one.dataset && error instanceof Refused && error.status === 404 && <NoTag tag={tag} others={error.nearest} onChoose={(other) => state.set({ tag: other })} />;
  return (
    <Page
      title="Masking surface"
      hint={one.dataset ? <>Where <ColumnLink column={one} /> ends up.</> : <>Where data tagged <b>{tag}</b> is readable: the tagged columns, and where their values end up. A column is exposed if some way there does not mask.</>}
      tools={
        <>
          <label>Tag <input value={one.dataset ? '' : tag} disabled={Boolean(one.dataset)} onChange={(event) => state.set({ tag: event.target.value }, true)} /></label>{' '}
          <label>
            Newly exposed since (UTC){' '}
            <input type="datetime-local" step={1} value={fieldOf(state.get('since') || null)} onChange={(event) => state.set({ since: isoOf(event.target.value) })} />
          </label>
        </>
      }
    >
      <ListTable
        question="surface" asked={{ ...one, tag: one.dataset ? '' : tag, since: state.get('since'), exposure: only }} usual="exposure" instead={untagged}
        empty="Nothing to show: no column is reached. Tag a column with a tags facet, or in the tags file of your rules."
        columns={[
          { id: 'exposure', sort: 'exposure', title: 'Exposure', value: (row) => row.tagged ? `${row.exposure} ${TAGGED}` : row.exposure, width: '10rem', show: (row) => <><Chip kind={row.exposure}>{row.exposure.replace('_', ' ')}</Chip>{row.earlier && <> <Chip kind="earlier">earlier</Chip></>}{row.tagged && <> <Chip kind={TAGGED}>{TAGGED}</Chip></>}</> },
          { id: 'until', sort: 'exposed_until', down: true, title: 'In the clear until', value: (row) => time(row.exposed_until), width: '12rem', show: (row) => row.exposed_until && <Chip kind={ONCE}>{time(row.exposed_until)}</Chip> },
          { id: 'column', sort: 'dataset', title: 'Column', value: (row) => `${row.namespace}/${row.dataset} ${row.column ?? ''}`, width: 'minmax(14rem, 3fr)', show: (row) => <><ColumnLink column={row} /><Former of={row.former} /></> },
          { id: 'how', title: 'How', value: (row) => how(row.how), width: 'minmax(9rem, 2fr)' },
          { id: 'via', sort: 'from', title: 'From', value: (row) => row.via?.dataset, width: 'minmax(12rem, 2fr)', show: (row) => { const from = cameFrom(row); return from && <ColumnLink column={from} />; } },
          { id: 'job', sort: 'job', title: 'By', value: (row) => row.via?.job.name, width: 'minmax(10rem, 2fr)', show: (row) => row.via && <JobLink id={row.via.job} /> },
        ]}
      >
        {({ exposures }) => (
          <div className="filters" role="group" aria-label="Show only">
            {([['exposed', 'exposed', ''], ['unknown', 'unknown', ''], ['masked', 'masked', ''], [ONCE, 'once exposed', 'Not written in the clear now; rows written in the clear before are still there.'], [TAGGED, 'tagged', 'Columns that have the tag themselves.']] as const).map(([each, said, title]) => (
              <button key={each} type="button" title={title || undefined} aria-pressed={only === each} onClick={() => state.set({ exposure: only === each ? '' : each })}>
                <Chip kind={each}>{said}</Chip> {count(exposures[each])}
              </button>
            ))}
          </div>
        )}
      </ListTable>
    </Page>
  );
}

const TAGS = `version: 1
tags:
  - dataset: "*"
    column: "*email*"
    tag: pii
`;

/** Not a fault: nothing has this tag; which tags there are, or how one tags. */
function NoTag({ tag, others, onChoose }: { tag: string; others: readonly string[]; onChoose: (tag: string) => void }) {
  return (
    <Section title="Nothing has this tag">
      <Empty>No column and no dataset is tagged <bdi className="strong">{tag}</bdi>.</Empty>
      {others.length > 0 && (
        <p className="filters">
          Tags that there are: {others.map((other) => <button key={other} type="button" onClick={() => onChoose(other)}><bdi>{other}</bdi></button>)}
        </p>
      )}
      <Empty>A producer tags by the facet <code>tags</code> of a dataset; you do in <code>tags.yaml</code> in the folder of your rules, which is taken up within a second:</Empty>
      <Code text={TAGS} label="An example of tags.yaml" />
    </Section>
  );
}

/** The column that it was made of; none where it was written without column lineage, or nobody says how. */
function cameFrom({ via }: Item): ColumnName | undefined {
  return via?.namespace !== undefined && via.dataset !== undefined ? { namespace: via.namespace, dataset: via.dataset, column: via.column } : undefined;
}

function how(said: Item['how']): string {
  return typeof said === 'string' ? said : [said.subtype ?? said.type, said.masking ? 'masks' : ''].filter(Boolean).join(', ').toLowerCase();
}
