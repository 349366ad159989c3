// Lineage: a map of groups without a dataset, what lies around one, the whole way of a column, or the way to another one.
import { useCallback, useDeferredValue, useMemo, useState } from 'react';
import { Link, useNavigate } from 'react-router';

import { GatheredContext } from '../graph/badges';
import type { Acts } from '../graph/Boxes';
import { Canvas } from '../graph/Canvas';
import { Controls } from '../graph/Controls';
import { DrawnList } from '../graph/DrawnList';
import { Legend } from '../graph/Legend';
import { ColumnList } from '../graph/ColumnList';
import { ColumnPanel, EdgePanel, FoldedPanel, Panel, TablePanel } from '../graph/Panel';
import type { Picture, PictureEdge, PictureTable } from '../graph/picture';
import { captionOf } from '../graph/frame';
import { hiddenColumns } from '../graph/shape';
import { TimeBar, useLifetime, useMoments } from '../graph/TimeBar';
import { Toolbar } from '../graph/Toolbar';
import { useGathered } from '../graph/useGathered';
import { useLayout } from '../graph/useLayout';
import { useSaving } from '../graph/useSaving';
import { useDrawn } from '../graph/useDrawn';
import { useView, type View } from '../graph/view';
import { WayList } from '../graph/WayList';
import { headingOf, subtitleOf } from '../graph/words';
import { count, time } from '../parts/format';
import { shortName, to as linkTo } from '../parts/links';
import { Page } from '../parts/Page';
import { Empty, Failure, Loading } from '../parts/States';

export function Lineage() {
  const view = useView();
  const [chosen, choose] = useState<string>();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const { picture: whole, error, now, stops, way } = useDrawn(view);
  const laid = useLayout(whole, view.whole ? undefined : view.folding, opened);
  const picture = whole && laid?.picture;
  const folded = foldedIn(picture);
  const [changes, lifetime] = [useMoments(useDeferredValue(laid) && now ? now : NOTHING), useLifetime(!view.dataset)];
  const moments = view.dataset ? changes : lifetime;
  const openTable = useCallback((id: string) => setOpened((before) => toggled(before, id)), []);
  const acts = useActs(view, opened, openTable, choose);
  const [title, ofMany] = [titleOf(view), useGathered(picture)];
  const parts = ['lineage', view.dataset && title, view.asOf && `as of ${view.asOf}`];
  const { save, unsaved } = useSaving(laid, opened, (saved) => captionOf(view, title, saved), parts, ofMany);
  return (
    <Page title={title} hint={hintOf(view)}>
      <Controls said={view.asOf && `as of ${time(view.asOf)} UTC`}>
        <Toolbar view={view} folded={folded} onSave={save} />
        <TimeBar asOf={view.asOf} since={view.since} moments={moments} onChange={view.change} />
      </Controls>
      {error && <Failure error={error} />}
      {unsaved && <Failure error={unsaved} />}
      {stops && <p className="state" role="status">{stops}</p>}
      {whole?.truncated && <p className="state" role="status">There is more than is drawn: look less far, or fold groups.</p>}
      {folded > 0 && <p className="state" role="status">{count(folded)} of {count(whole?.tables.length ?? 0)} tables are folded, so that the others can be read.</p>}
      {weakIn(picture) > 0 && <p className="state" role="status">The heaviest edges of each group are drawn; choose a group for all of its own. {count(weakIn(picture))} are not drawn.</p>}
      {!(error && !picture) && <div className="graph-and-panel">
        <div className="graph" data-laid={picture?.tables.length ?? ''}>
          <GatheredContext value={ofMany}>
            {laid && picture && picture.tables.length > 0 && <Canvas key={view.about} laid={laid} opened={opened} chosen={chosen} acts={acts} about={view.about} />}
          </GatheredContext>
          {whole?.tables.length === 0 && !error && !stops && <Empty>No lineage yet. Post events to this address and the map of their datasets shows here.</Empty>}
          {!laid && !error && whole?.tables.length !== 0 && <Loading what={whole ? 'Laying out' : 'Asking'} />}
        </div>
        {chosen !== undefined && laid && <Chosen id={chosen} view={view} tables={laid.picture.tables} edges={laid.picture.edges} opened={opened} onFewer={openTable} onClose={() => choose(undefined)} />}
      </div>}
      <Legend />
      {way && way.length > 0 && <WayList way={way} lens={view.lens} />}
      {whole && <DrawnList picture={whole} view={view} />}
    </Page>
  );
}

/** Moments are asked for after the graph is there: 25 questions are a task of their own. */
const NOTHING = [] as const;

/** How many tables stand in stacks and chains. */
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

function useActs(view: View, opened: ReadonlySet<string>, openTable: (id: string) => void, choose: (id: string) => void): Acts {
  const navigate = useNavigate();
  return useMemo(
    () => ({
      onTable: (table) => choose(table.id),
      onColumn: (table, column) => view.focus(table, column.name),
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
          {table.kind === 'job' ? <Link className="button" to={linkTo.job(table)}>Open the job</Link> : <button type="button" onClick={() => view.openGroup(id)}>Open the group</button>}
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
            marked && marked.id !== id ? <button type="button" onClick={() => view.foldBetween(marked.id, id)}>Fold what lies between {shortName(marked.name)} and it</button>
              : <button type="button" aria-pressed={marked?.id === id} onClick={() => mark(table)}>{marked?.id === id ? 'Now choose the other end' : 'Fold from here to …'}</button>
          }
        />
        {hiddenColumns(table, opened.has(id)) > 0 && <ColumnList table={table} related={view.column !== ''} />}
        {opened.has(id) && <button type="button" onClick={() => onFewer(id)}>Draw fewer columns</button>}
      </Panel>
    );
  if (owner)
    return <Panel title="Column" onClose={onClose}><ColumnPanel table={owner} column={column} lens={view.lens} /></Panel>;
  if (edge && from && to)
    return <Panel title="Edge" onClose={onClose}><EdgePanel edge={edge} from={from} to={to} lens={view.lens} /></Panel>;
  return null;
}

/** The column that a choice means, with its table. */
function columnOf(id: string, tables: readonly PictureTable[]): [PictureTable, string] | [undefined, undefined] {
  for (const table of tables) for (const column of table.columns) if (JSON.stringify([table.id, column.name]) === id) return [table, column.name];
  return [undefined, undefined];
}
