// The graph of jobs at a chosen granularity: data flow and control flow between them.
import { useMemo, useState } from 'react';
import { Link, useNavigate } from 'react-router';

import type { Answer } from '../api/client';
import { useQuestion } from '../api/hooks';
import { GroupBadgesContext } from '../graph/badges';
import type { GraphActions } from '../graph/Boxes';
import { Canvas } from '../graph/Canvas';
import { Controls } from '../graph/Controls';
import { FlowList } from '../graph/FlowList';
import { captionOfJobs } from '../graph/frame';
import { ChosenJob } from '../graph/JobPanel';
import { jobPicture, FLOW_FILTERS, flowFilterOf, type FlowFilter } from '../graph/jobPicture';
import { FlowLegend } from '../graph/Legend';
import type { PictureTable } from '../graph/picture';
import { DistanceSelect } from '../graph/Toolbar';
import { useGroupBadges } from '../graph/useGroupBadges';
import { useLayout } from '../graph/useLayout';
import { useSaving } from '../graph/useSaving';
import { ALL } from '../graph/view';
import { count } from '../parts/format';
import { useGranularity } from '../parts/granularity';
import { GranularitySwitch } from '../parts/GranularitySwitch';
import { to as linkTo } from '../parts/links';
import { Page } from '../parts/Page';
import { Empty, Failure, Loading } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';

/** The maximum number of jobs in the graph around one job, which folds jobs into stacks, and in the graph of all jobs. */
const [AROUND, OF_ALL] = [1_000, 100];
const NOTHING: ReadonlySet<string> = new Set();

export function JobGraph() {
  const state = useAddressState();
  const [granularity] = useGranularity('application');
  const [namespace, job] = [state.get('namespace'), state.get('job')];
  const shown = flowFilterOf(state.get('flow'));
  const far = (name: string) => (/^\d{1,4}$/.test(state.get(name)) ? Math.min(ALL, Number(state.get(name))) : job ? 2 : ALL);
  const [up, down] = [far('up'), far('down')];
  const found = useQuestion('job-graph', { namespace, job, granularity, up, down, limit: job ? AROUND : OF_ALL });
  const { whole, folding } = useJobPicture(found.data, job !== '', shown, JSON.stringify(state.all('pin')));
  const layout = useLayout(whole, folding, NOTHING);
  const picture = whole === undefined ? undefined : layout?.picture;
  const [chosen, choose] = useState<string>();
  const actions = useJobGraphActions(choose);
  const groupBadges = useGroupBadges(picture);
  const title = job ? `Jobs around ${job}` : 'Job graph';
  const { save, unsaved } = useSaving(layout, NOTHING, (saved) => captionOfJobs(title, granularity, saved), ['jobs', job, granularity], groupBadges);
  const folded = picture?.tables.reduce((sum, table) => sum + (table.members?.length ?? 0), 0) ?? 0;
  const about = JSON.stringify([namespace, job, granularity, shown]);
  return (
    <Page title={title} hint={job ? <bdi className="mono">{namespace}</bdi> : 'Data flow and control flow between jobs.'}>
      <Controls>
        <div className="toolbar" role="group" aria-label="Display options">
          <GranularitySwitch defaultValue="application" />
          <label>
            Edges{' '}
            <select value={shown} onChange={(event) => state.set({ flow: event.target.value === 'both' ? '' : event.target.value })}>
              {FLOW_FILTERS.map((each) => <option key={each} value={each}>{each === 'both' ? 'data and control' : each}</option>)}
            </select>
          </label>
          {job && <><DistanceSelect title="Upstream" value={up} onChange={(next) => state.set({ up: next })} /><DistanceSelect title="Downstream" value={down} onChange={(next) => state.set({ down: next })} /></>}
          {job && <Link className="button quiet" to="/job-graph">All jobs</Link>}
          {state.all('pin').length > 0 && <button type="button" onClick={() => state.set({ pin: '' })}>Reset folding</button>}
          <button type="button" className="quiet" onClick={() => save('svg')}>SVG</button>
          <button type="button" className="quiet" onClick={() => save('png')}>PNG</button>
        </div>
      </Controls>
      {found.error && <Failure error={found.error} />}
      {unsaved && <Failure error={unsaved} />}
      {found.data?.truncated && <p className="state" role="status">{count(found.data.nodes.length)} of {count(found.data.totalCount)} jobs are drawn. To see the others, choose a coarser granularity, or open the graph from the page of one job.</p>}
      {folded > 0 && <p className="state" role="status">{foldedText(folded, whole?.tables.length ?? 0)}</p>}
      {!(found.error && !picture) && <div className="graph-and-panel">
        <div className="graph">
          <GroupBadgesContext value={groupBadges}>
            {layout && picture && picture.tables.length > 0 && <Canvas key={about} layout={layout} opened={NOTHING} chosen={chosen} actions={actions} about={about} />}
          </GroupBadgesContext>
          {whole?.tables.length === 0 && <Empty>There are no jobs with data or control flow yet. Jobs appear here when their events arrive.</Empty>}
          {!layout && !found.error && whole?.tables.length !== 0 && <Loading what={whole ? 'Computing layout' : 'Loading'} />}
        </div>
        {chosen !== undefined && found.data && picture && (
          <ChosenJob id={chosen} picture={picture} answer={found.data} onPin={(id) => state.set({ pin: [...new Set([...state.all('pin'), id])] })} onClose={() => choose(undefined)} />
        )}
      </div>}
      <FlowLegend />
      {found.data && <FlowList answer={found.data} />}
    </Page>
  );
}

/** The sentence about folded jobs. */
export const foldedText = (folded: number, all: number): string =>
  folded < all ? `${count(folded)} of ${count(all)} jobs are folded to keep the graph readable.` : `None of the ${count(all)} jobs has data or control flow to another. They are drawn as one stack; select it to list them.`;

/** pins: a JSON list of the ids of pinned boxes. */
function useJobPicture(answer: Answer<'job-graph'> | undefined, hasSubject: boolean, shown: FlowFilter, pins: string) {
  const whole = useMemo(() => answer && jobPicture(answer, hasSubject, shown), [answer, hasSubject, shown]);
  const folding = useMemo(() => ({ pinned: new Set(JSON.parse(pins) as string[]), between: [] }), [pins]);
  return { whole, folding };
}

function useJobGraphActions(choose: (id: string) => void): GraphActions {
  const navigate = useNavigate();
  return useMemo(() => {
    const chooseBox = (table: PictureTable) => choose(table.id);
    return {
      onTable: chooseBox, onColumn: chooseBox, onAsk: chooseBox, onFurther: chooseBox, onEdge: choose,
      onOpen: (table) => (table.kind === 'job' ? void navigate(linkTo.job(table)) : choose(table.id)),
    }; // prettier-ignore
  }, [choose, navigate]);
}
