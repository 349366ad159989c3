// Lineage: a map of groups without a dataset, what lies around one, the whole way of a column, or the way to another one.
import { useCallback, useMemo, useState } from 'react';

import { Canvas, type Acts } from '../graph/Canvas';
import { DrawnList } from '../graph/DrawnList';
import { Legend } from '../graph/Legend';
import { EdgePanel, Panel, TablePanel } from '../graph/Panel';
import type { PictureEdge, PictureTable } from '../graph/picture';
import { captionOf, coloursOf } from '../graph/frame';
import { pngOf, svgOf } from '../graph/svg';
import { TimeBar, useLifetime, useMoments } from '../graph/TimeBar';
import { Toolbar } from '../graph/Toolbar';
import { useLayout } from '../graph/useLayout';
import { useDrawn } from '../graph/useDrawn';
import { useView, type View } from '../graph/view';
import { download, fileName } from '../parts/csv';
import { shortName } from '../parts/links';
import { Page } from '../parts/Page';
import { Empty, Failure, Loading } from '../parts/States';

export function Lineage() {
  const view = useView();
  const [chosen, choose] = useState<string>();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const { picture, error, now, stops } = useDrawn(view);
  const laid = useLayout(picture, opened);
  const [changes, lifetime] = [useMoments(now), useLifetime(!view.dataset)];
  const moments = view.dataset ? changes : lifetime;
  const openTable = useCallback((id: string) => setOpened((before) => toggled(before, id)), []);
  const acts = useActs(view, openTable, choose);
  const [unsaved, setUnsaved] = useState<Error>();
  const save = (form: 'svg' | 'png') => {
    if (!laid) return;
    const [title, now] = [titleOf(view), new Date()];
    const svg = svgOf(laid.picture, laid.places, opened, captionOf(view, title, now), coloursOf(document.documentElement));
    const name = fileName(['lineage', view.dataset && title, view.asOf && `as of ${view.asOf}`], now, form);
    const content = form === 'svg' ? Promise.resolve(new Blob([svg], { type: 'image/svg+xml' })) : pngOf(svg);
    content.then((found) => download(name, found)).then(() => setUnsaved(undefined), setUnsaved);
  };
  return (
    <Page title={titleOf(view)} hint={hintOf(view)}>
      <Toolbar view={view} onSave={save} />
      <TimeBar asOf={view.asOf} since={view.since} moments={moments} onChange={view.change} />
      {error && <Failure error={error} />}
      {unsaved && <Failure error={unsaved} />}
      {stops && <p className="state" role="status">{stops}</p>}
      {picture?.truncated && <p className="state" role="status">There is more than is drawn: look less far, or fold groups.</p>}
      <div className="graph-and-panel">
        <div className="graph" data-laid={laid && picture ? Math.min(picture.tables.length, laid.picture.tables.length) : ''}>
          {laid && picture && picture.tables.length > 0 && <Canvas key={view.about} laid={laid} opened={opened} chosen={chosen} acts={acts} about={view.about} />}
          {picture?.tables.length === 0 && !error && !stops && <Empty>No lineage yet. Post events to this address and the map of their datasets shows here.</Empty>}
          {!laid && !error && picture?.tables.length !== 0 && <Loading what={picture ? 'Laying out' : 'Asking'} />}
        </div>
        {chosen !== undefined && laid && <Chosen id={chosen} view={view} tables={laid.picture.tables} edges={laid.picture.edges} onClose={() => choose(undefined)} />}
      </div>
      <Legend />
      {picture && <DrawnList picture={picture} view={view} />}
    </Page>
  );
}

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

function useActs(view: View, openTable: (id: string) => void, choose: (id: string) => void): Acts {
  return useMemo(
    () => ({
      onTable: (table) => (table.kind === 'group' ? view.openGroup(table.id) : choose(table.id)),
      onColumn: (table, column) => view.focus(table, column.name),
      onEdge: choose,
      onOpen: (table) => (table.kind === 'group' ? view.openGroup(table.id) : openTable(table.id)),
      onFurther: (table, side) => view.change({ [side]: Math.abs(table.distance) + 1 }),
    }),
    [view, openTable, choose],
  );
}

interface ChosenProps {
  id: string;
  view: View;
  tables: readonly PictureTable[];
  edges: readonly PictureEdge[];
  onClose: () => void;
}

function Chosen({ id, view, tables, edges, onClose }: ChosenProps) {
  const table = tables.find((each) => each.id === id);
  const edge = edges.find((each) => each.id === id);
  const [from, to] = [tables.find((each) => each.id === edge?.from), tables.find((each) => each.id === edge?.to)];
  if (table)
    return (
      <Panel title="Table" onClose={onClose}>
        <TablePanel
          table={table} folded={(side) => view.folds.has(`${side}:${id}`)} onFold={(side) => view.fold(`${side}:${id}`)}
          onFocus={() => view.focus(table, '')} onPath={view.dataset && !table.subject ? () => view.pathTo(table) : undefined}
        />
      </Panel>
    );
  if (edge && from && to)
    return <Panel title="Edge" onClose={onClose}><EdgePanel edge={edge} from={from} to={to} lens={view.lens} /></Panel>;
  return null;
}
