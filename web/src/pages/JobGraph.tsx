// Jobs as boxes, as statements or as what these are part of: which feeds which by data, and apart from it which waits for which.
import { useMemo, useState } from 'react';
import { Link, useNavigate } from 'react-router';

import type { Answer } from '../api/client';
import { useQuestion } from '../api/hooks';
import { GatheredContext } from '../graph/badges';
import type { Acts } from '../graph/Boxes';
import { Canvas } from '../graph/Canvas';
import { Controls } from '../graph/Controls';
import { FlowList } from '../graph/FlowList';
import { captionOfJobs } from '../graph/frame';
import { ChosenJob } from '../graph/JobPanel';
import { jobPicture, SHOWN, shownOf, type Shown } from '../graph/jobPicture';
import { FlowLegend } from '../graph/Legend';
import type { PictureTable } from '../graph/picture';
import { Far } from '../graph/Toolbar';
import { useGathered } from '../graph/useGathered';
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

/** Around one job, which stands in the middle and has the others in stacks; and of all, where nothing does. */
const [AROUND, OF_ALL] = [1_000, 100];
const NOTHING: ReadonlySet<string> = new Set();

export function JobGraph() {
  const state = useAddressState();
  const [granularity] = useGranularity('application');
  const [namespace, job] = [state.get('namespace'), state.get('job')];
  const shown = shownOf(state.get('flow'));
  const far = (name: string) => (/^\d{1,4}$/.test(state.get(name)) ? Math.min(ALL, Number(state.get(name))) : job ? 2 : ALL);
  const [up, down] = [far('up'), far('down')];
  const found = useQuestion('job-graph', { namespace, job, granularity, up, down, limit: job ? AROUND : OF_ALL });
  const { whole, folding } = useJobPicture(found.data, job !== '', shown, JSON.stringify(state.all('pin')));
  const laid = useLayout(whole, folding, NOTHING);
  const picture = whole === undefined ? undefined : laid?.picture;
  const [chosen, choose] = useState<string>();
  const acts = useJobActs(choose);
  const ofMany = useGathered(picture);
  const title = job ? `Jobs around ${job}` : 'Job graph';
  const { save, unsaved } = useSaving(laid, NOTHING, (saved) => captionOfJobs(title, granularity, saved), ['jobs', job, granularity], ofMany);
  const folded = picture?.tables.reduce((sum, table) => sum + (table.members?.length ?? 0), 0) ?? 0;
  const about = JSON.stringify([namespace, job, granularity, shown]);
  return (
    <Page title={title} hint={job ? <bdi className="mono">{namespace}</bdi> : 'Which job feeds which by data, and which waits for which.'}>
      <Controls>
        <div className="toolbar" role="group" aria-label="What is shown">
          <GranularitySwitch standing="application" />
          <label>
            Edges{' '}
            <select value={shown} onChange={(event) => state.set({ flow: event.target.value === 'both' ? '' : event.target.value })}>
              {SHOWN.map((each) => <option key={each} value={each}>{each === 'both' ? 'data and control' : each}</option>)}
            </select>
          </label>
          {job && <><Far title="Before" value={up} onChange={(next) => state.set({ up: next })} /><Far title="Behind" value={down} onChange={(next) => state.set({ down: next })} /></>}
          {job && <Link className="button quiet" to="/job-graph">All jobs</Link>}
          {state.all('pin').length > 0 && <button type="button" onClick={() => state.set({ pin: '' })}>Fold as at first</button>}
          <button type="button" className="quiet" onClick={() => save('svg')}>SVG</button>
          <button type="button" className="quiet" onClick={() => save('png')}>PNG</button>
        </div>
      </Controls>
      {found.error && <Failure error={found.error} />}
      {unsaved && <Failure error={unsaved} />}
      {found.data?.truncated && <p className="state" role="status">{count(found.data.nodes.length)} of {count(found.data.totalCount)} jobs are drawn, some that hang together: draw what they are part of, or what is around one, from its page.</p>}
      {folded > 0 && <p className="state" role="status">{foldedText(folded, whole?.tables.length ?? 0)}</p>}
      {!(found.error && !picture) && <div className="graph-and-panel">
        <div className="graph">
          <GatheredContext value={ofMany}>
            {laid && picture && picture.tables.length > 0 && <Canvas key={about} laid={laid} opened={NOTHING} chosen={chosen} acts={acts} about={about} />}
          </GatheredContext>
          {whole?.tables.length === 0 && <Empty>No job is known yet, or none reads and writes. Post events to this address and their jobs show here.</Empty>}
          {!laid && !found.error && whole?.tables.length !== 0 && <Loading what={whole ? 'Laying out' : 'Asking'} />}
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

/** pins: ids as JSON. */
/** What is said of jobs that are not drawn one by one. */
export const foldedText = (folded: number, all: number): string =>
  folded < all ? `${count(folded)} of ${count(all)} jobs are folded, so that the others can be read.` : `No line leads to or from any of the ${count(all)} jobs: they are one stack, which lists them.`;

function useJobPicture(answer: Answer<'job-graph'> | undefined, asked: boolean, shown: Shown, pins: string) {
  const whole = useMemo(() => answer && jobPicture(answer, asked, shown), [answer, asked, shown]);
  const folding = useMemo(() => ({ pinned: new Set(JSON.parse(pins) as string[]), between: [] }), [pins]);
  return { whole, folding };
}

function useJobActs(choose: (id: string) => void): Acts {
  const navigate = useNavigate();
  return useMemo(() => {
    const chooseBox = (table: PictureTable) => choose(table.id);
    return {
      onTable: chooseBox, onColumn: chooseBox, onAsk: chooseBox, onFurther: chooseBox, onEdge: choose,
      onOpen: (table) => (table.kind === 'job' ? void navigate(linkTo.job(table)) : choose(table.id)),
    }; // prettier-ignore
  }, [choose, navigate]);
}
