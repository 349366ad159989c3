// Lineage: the map of groups, the neighbourhood of a dataset, the lineage of a column, or the path between two of them.
import { useCallback, useDeferredValue, useMemo, useState } from 'react';
import { Link, useNavigate } from 'react-router';

import { GroupBadgesContext } from '../graph/badges';
import type { GraphActions } from '../graph/Boxes';
import { EmptyState } from '../design/components';
import { Canvas } from '../graph/Canvas';
import { BoxColoursContext, useBoxColours } from '../graph/colouring';
import { ExposureContext, useExposures } from '../graph/exposure';
import { Controls } from '../graph/Controls';
import { GraphTable } from '../graph/GraphTable';
import { Legend } from '../graph/Legend';
import { ColumnList } from '../graph/ColumnList';
import { ColumnPanel, EdgePanel, FoldedPanel, Panel, TablePanel } from '../graph/Panel';
import type { Picture, PictureEdge, PictureTable } from '../graph/picture';
import { captionOf } from '../graph/frame';
import { hiddenColumns } from '../graph/shape';
import { TimeBar, useLifetime, useMoments } from '../graph/TimeBar';
import { Toolbar } from '../graph/Toolbar';
import { useGroupBadges } from '../graph/useGroupBadges';
import { useLayout } from '../graph/useLayout';
import { useSaving } from '../graph/useSaving';
import { usePicture } from '../graph/usePicture';
import { useView, type View } from '../graph/view';
import { PathSteps } from '../graph/PathSteps';
import { headingOf, subtitleOf } from '../graph/words';
import { CopyLink } from '../parts/CopyLink';
import { count, time } from '../parts/format';
import { shortName, to as linkTo } from '../parts/links';
import { Page } from '../parts/Page';
import { Failure, Loading } from '../parts/States';

export function Lineage() {
  const view = useView();
  const [chosen, choose] = useState<string>();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const { picture: whole, error, now, stops, path } = usePicture(view);
  const layout = useLayout(whole, view.whole ? undefined : view.folding, opened);
  const picture = whole && layout?.picture;
  const folded = foldedIn(picture);
  const [changes, lifetime] = [useMoments(useDeferredValue(layout) && now ? now : NOTHING), useLifetime(!view.dataset)];
  const moments = view.dataset ? changes : lifetime;
  const openTable = useCallback((id: string) => setOpened((before) => toggled(before, id)), []);
  const actions = useGraphActions(view, opened, openTable, choose);
  const exposures = useExposures(view);
  const colours = useBoxColours(view.colouring, picture?.tables, exposures.byColumn);
  const [title, groupBadges] = [titleOf(view), useGroupBadges(picture)];
  const parts = ['lineage', view.dataset && title, view.asOf && `as of ${view.asOf}`];
  const { save, unsaved } = useSaving(layout, opened, (saved) => captionOf(view, title, saved), parts, groupBadges, exposures.byColumn);
  return (
    <Page title={title} hint={hintOf(view)} tools={<><CopyLink />{view.dataset && <Link className="button quiet" to="/lineage">Map</Link>}{view.dataset && <Link className="button" to={view.column ? linkTo.column(view) : linkTo.dataset({ namespace: view.namespace, name: view.dataset })}>{view.column ? 'Open column' : 'Open dataset'}</Link>}</>}>
      <Controls summary={view.asOf && `as of ${time(view.asOf)} UTC`}>
        <Toolbar view={view} folded={folded} onSave={save}>
          <TimeBar asOf={view.asOf} since={view.since} moments={moments} onChange={view.change} />
        </Toolbar>
      </Controls>
      {error && <Failure error={error} />}
      {unsaved && <Failure error={unsaved} />}
      {stops && <p className="state" role="status">{stops}</p>}
      {colours.note && <p className="state" role="status">{colours.note}</p>}
      {exposures.note && <p className="state" role="status">{exposures.note}</p>}
      {whole?.truncated && <p className="state" role="status">The graph is too large to draw completely. Reduce the number of steps, or fold groups.</p>}
      {folded > 0 && <p className="state" role="status">{count(folded)} of {count(whole?.tables.length ?? 0)} tables are folded to keep the graph readable.</p>}
      {weakIn(picture) > 0 && <p className="state" role="status">Only the heaviest edges of each group are drawn; {count(weakIn(picture))} are hidden. Select a group to see all its edges.</p>}
      {!(error && !picture) && <div className="graph-and-panel">
        <div className="graph" data-layout={picture?.tables.length ?? ''}>
          <GroupBadgesContext value={groupBadges}>
            <ExposureContext value={exposures.byColumn}><BoxColoursContext value={colours}>
              {layout && picture && picture.tables.length > 0 && <Canvas key={view.about} layout={layout} opened={opened} chosen={chosen} actions={actions} about={view.about} />}
            </BoxColoursContext></ExposureContext>
          </GroupBadgesContext>
          {whole?.tables.length === 0 && !error && !stops && <EmptyState icon="lineage" title="There is no lineage yet." action={<Link className="button primary" to="/connect">Connect a producer</Link>}>Datasets and the edges between them appear here when events arrive.</EmptyState>}
          {!layout && !error && whole?.tables.length !== 0 && <Loading what={whole ? 'Computing layout' : 'Loading'} />}
        </div>
        {chosen !== undefined && layout && <Chosen id={chosen} view={view} tables={layout.picture.tables} edges={layout.picture.edges} opened={opened} onFewer={openTable} onClose={() => choose(undefined)} />}
      </div>}
      <Legend />
      {path && path.length > 0 && <PathSteps path={path} lens={view.lens} />}
      {whole && <GraphTable picture={whole} view={view} />}
    </Page>
  );
}

/** No tables, until the graph is drawn: the times of changes need 25 requests, so they are loaded last. */
const NOTHING = [] as const;

/** The number of tables in stacks and chains. */
const foldedIn = (picture: Picture | undefined): number => picture?.tables.reduce((sum, table) => sum + (table.members?.length ?? 0), 0) ?? 0;
const weakIn = (picture: Picture | undefined): number => picture?.edges.filter((edge) => edge.weak).length ?? 0;

function toggled(before: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(id)) next.add(id);
  return next;
}

function titleOf(view: View): string {
  if (!view.dataset) return 'Lineage';
  return view.column ? `${view.column} in ${shortName(view.dataset)}` : shortName(view.dataset);
}

function hintOf(view: View) {
  if (!view.dataset) return 'A map of all datasets by group. Open a group, or search for a dataset or a column with Ctrl-K.';
  return <bdi>{view.namespace && `${view.namespace}/`}{view.dataset}</bdi>;
}

function useGraphActions(view: View, opened: ReadonlySet<string>, openTable: (id: string) => void, choose: (id: string) => void): GraphActions {
  const navigate = useNavigate();
  return useMemo(
    () => ({
      onTable: (table) => choose(table.id),
      onColumn: (table, column) => {
        view.focus(table, column.name);
        choose(JSON.stringify([table.id, column.name]));
      },
      onAsk: (table, column) => choose(JSON.stringify([table.id, column.name])),
      onEdge: choose,
      onOpen: (table) => {
        if (table.kind === 'group') view.openGroup(table.id);
        else if (table.kind === 'job') void navigate(linkTo.job(table));
        else if (table.kind === 'table' && !(opened.has(table.id) && hiddenColumns(table, true))) openTable(table.id);
        else choose(table.id);
      },
      onFurther: (table, side) => view.change({ [side]: Math.abs(table.distance) + 1 }),
    }),
    [view, opened, openTable, choose, navigate],
  );
}

interface ChosenProps {
  id: string;
  view: View;
  tables: readonly PictureTable[];
  edges: readonly PictureEdge[];
  opened: ReadonlySet<string>;
  onFewer: (id: string) => void;
  onClose: () => void;
}

function Chosen({ id, view, tables, edges, opened, onFewer, onClose }: ChosenProps) {
  const [marked, mark] = useState<PictureTable>();
  const table = tables.find((each) => each.id === id);
  const edge = edges.find((each) => each.id === id);
  const [from, to] = [tables.find((each) => each.id === edge?.from), tables.find((each) => each.id === edge?.to)];
  const [owner, column] = edge || table ? [undefined, undefined] : columnOf(id, tables);
  if (table?.members) return <Panel title={headingOf(table)} onClose={onClose}><FoldedPanel table={table} onPin={view.pin} /></Panel>;
  if (table?.kind === 'group' || table?.kind === 'job')
    return (
      <Panel title={table.kind === 'job' ? 'Job' : 'Group'} onClose={onClose}>
        <p className="whole"><bdi>{headingOf(table)}</bdi></p>
        <p className="whole dim"><bdi>{subtitleOf(table)}</bdi></p>
        <div className="actions">
          {table.kind === 'job' ? <Link className="button" to={linkTo.job(table)}>Open job</Link> : <button type="button" onClick={() => view.openGroup(id)}>Open group</button>}
        </div>
      </Panel>
    );
  if (table)
    return (
      <Panel title="Table" onClose={onClose}>
        <TablePanel
          table={table} folded={(side) => view.folds.has(`${side}:${id}`)} onFold={(side) => view.fold(`${side}:${id}`)}
          onFocus={() => view.focus(table, '')} onPath={view.dataset && !table.subject ? () => view.pathTo(table) : undefined}
          between={
            marked && marked.id !== id ? <button type="button" onClick={() => view.foldBetween(marked.id, id)}>Fold everything between {shortName(marked.name)} and this table</button>
              : <button type="button" aria-pressed={marked?.id === id} onClick={() => mark(table)}>{marked?.id === id ? 'Select the other table' : 'Fold between this and …'}</button>
          }
        />
        {hiddenColumns(table, opened.has(id)) > 0 && <ColumnList table={table} related={view.column !== ''} />}
        {opened.has(id) && <button type="button" onClick={() => onFewer(id)}>Show fewer columns</button>}
      </Panel>
    );
  if (owner)
    return <Panel title="Column" onClose={onClose}><ColumnPanel table={owner} column={column} lens={view.lens} /></Panel>;
  if (edge && from && to)
    return <Panel title="Edge" onClose={onClose}><EdgePanel edge={edge} from={from} to={to} lens={view.lens} /></Panel>;
  return null;
}

/** The selected column, with its table. */
function columnOf(id: string, tables: readonly PictureTable[]): [PictureTable, string] | [undefined, undefined] {
  for (const table of tables) for (const column of table.columns) if (JSON.stringify([table.id, column.name]) === id) return [table, column.name];
  return [undefined, undefined];
}
