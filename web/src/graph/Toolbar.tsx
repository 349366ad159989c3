// The display options of the lineage graph: distance, edges, groups and folding; and buttons that save the picture.
import { Link } from 'react-router';

import { count } from '../parts/format';
import { useAddressState } from '../parts/useAddressState';
import { LEVELS, type Level } from './collapse';
import { DisplayOptions } from './DisplayOptions';
import { ALL, type View } from './view';

const LABELS: Record<Level, string> = { none: 'none (tables)', namespace: 'namespace', lakehouse: 'lakehouse (first folder)', schema: 'schema (last folder)' };

interface Props {
  view: View;
  /** The number of folded tables. */
  folded: number;
  onSave: (form: 'svg' | 'png') => void;
}

export function Toolbar({ view, folded, onSave }: Props) {
  const focused = view.dataset !== '';
  return (
    <div className="toolbar" role="group" aria-label="Display options">
      {focused && !view.target.dataset && (
        <>
          <DistanceSelect title="Upstream" value={view.up} onChange={(up) => view.change({ up })} />
          <DistanceSelect title="Downstream" value={view.down} onChange={(down) => view.change({ down })} />
        </>
      )}
      <label>
        Groups{' '}
        <select value={view.group} onChange={(event) => view.change({ group: event.target.value, open: '' })}>
          {LEVELS.map((level) => <option key={level} value={level}>{LABELS[level]}</option>)}
        </select>
      </label>
      <DisplayOptions view={view} />
      {view.opened.size > 0 && <button type="button" onClick={() => view.change({ open: '' })}>Close all groups</button>}
      {view.folds.size > 0 && <button type="button" onClick={() => view.change({ fold: '' })}>Unfold all</button>}
      {(view.folding.pinned.size > 0 || view.folding.between.length > 0) && <button type="button" onClick={() => view.change({ pin: '', between: '' })}>Reset folding</button>}
      {(folded > 0 || view.whole) && (
        <button type="button" aria-pressed={view.whole} onClick={() => view.change({ stacks: view.whole ? '' : 'open' })}>
          {view.whole ? 'All tables shown' : `Show ${count(folded)} folded tables`}
        </button>
      )}
      {focused && !view.column && !view.target.dataset && (
        <label className="check">
          <input type="checkbox" checked={view.jobs} onChange={(event) => view.change({ jobs: event.target.checked ? 'nodes' : '' })} />
          Show jobs
        </label>
      )}
      {(view.column || view.target.dataset) && (
        <label className="check">
          <input type="checkbox" checked={view.mode === 'any'} onChange={(event) => view.change({ mode: event.target.checked ? 'any' : '' })} />
          Show indirect lineage
        </label>
      )}
      <label className="check">
        <input type="checkbox" checked={view.every} onChange={(event) => view.change({ view: event.target.checked ? 'all' : '' })} />
        Include historical lineage
      </label>
      {view.column && <button type="button" onClick={() => view.change({ column: '' })}>Whole table</button>}
      {focused && <PathFinder view={view} />}
      {focused && <Link className="button quiet" to="/lineage">Map</Link>}
      <button type="button" className="quiet" onClick={() => onSave('svg')}>SVG</button>
      <button type="button" className="quiet" onClick={() => onSave('png')}>PNG</button>
    </div>
  );
}

export function DistanceSelect({ title, value, onChange }: { title: string; value: number; onChange: (value: number) => void }) {
  return (
    <label>
      {title}{' '}
      <select value={value} onChange={(event) => onChange(Number(event.target.value))}>
        {[...new Set([0, 1, 2, 3, 5, 10, value, ALL])].sort((a, b) => a - b).map((each) => (
          <option key={each} value={each}>{each === ALL ? 'all' : each}</option>
        ))}
      </select>
    </label>
  );
}

function PathFinder({ view }: { view: View }) {
  const state = useAddressState();
  if (view.target.dataset)
    return <button type="button" onClick={() => state.set({ toNamespace: '', toDataset: '', toColumn: '' })}>Close path to {view.target.column || view.target.dataset.split('/').at(-1)}</button>;
  return (
    <form
      className="path-finder"
      onSubmit={(event) => {
        event.preventDefault();
        const target = new FormData(event.currentTarget).get('target');
        const [dataset = '', column = ''] = typeof target === 'string' ? target.split('#') : [];
        state.set({ toDataset: dataset.trim(), toColumn: column.trim() });
      }}
    >
      <label>Find path to <input name="target" required placeholder="dataset or dataset#column" /></label> <button type="submit">Find</button>
    </form>
  );
}
