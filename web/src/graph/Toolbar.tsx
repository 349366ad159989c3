// The controls of the lineage graph: one row with the most frequent ones, and two panels that buttons of the row open.
import { useId, useState, type ReactNode } from 'react';

import { Icon } from '../design/Icon';
import { count, time } from '../parts/format';
import { useAddressState } from '../parts/useAddressState';
import { COLOURING_TITLES, COLOURINGS } from './colouring';
import { isMapLevel, LEVELS, type Level } from './collapse';
import { DisplayOptions } from './DisplayOptions';
import { ALL, type View } from './view';

const LABELS: Record<Level, string> = {
  none: 'none (tables)', namespace: 'namespace', lakehouse: 'lakehouse (first folder)', schema: 'schema (last folder)', system: 'system', layer: 'layer',
}; // prettier-ignore

interface Props {
  view: View;
  /** The number of folded tables. */
  folded: number;
  onSave: (form: 'svg' | 'png') => void;
  /** The content of the panel that selects the time. */
  children: ReactNode;
}

type PanelName = 'time' | 'options';

export function Toolbar({ view, folded, onSave, children }: Props) {
  const focused = view.dataset !== '';
  const [open, setOpen] = useState<PanelName | undefined>(view.asOf || view.since ? 'time' : undefined);
  const [timePanel, optionsPanel] = [useId(), useId()];
  const toggle = (name: PanelName) => setOpen(open === name ? undefined : name);
  return (
    <>
      <div className="toolbar" role="group" aria-label="Display options">
        {focused && !view.target.dataset && (
          <>
            <DistanceSelect title="Upstream" value={view.up} onChange={(up) => view.change({ up })} />
            <DistanceSelect title="Downstream" value={view.down} onChange={(down) => view.change({ down })} />
          </>
        )}
        {(view.column || view.target.dataset) && (
          <Check title="Show indirect lineage" isOn={view.mode === 'any'} onChange={(isOn) => view.change({ mode: isOn ? 'any' : '' })} />
        )}
        {focused && !view.column && !view.target.dataset && (
          <Check title="Show jobs" isOn={view.jobs} onChange={(isOn) => view.change({ jobs: isOn ? 'nodes' : '' })} />
        )}
        <ColourSelect view={view} />
        {view.column && <button type="button" onClick={() => view.change({ column: '' })}>Whole table</button>}
        {focused && <PathFinder view={view} />}
        {(folded > 0 || view.whole) && (
          <button type="button" aria-pressed={view.whole} onClick={() => view.change({ stacks: view.whole ? '' : 'open' })}>
            {view.whole ? 'All tables shown' : `Show ${count(folded)} folded tables`}
          </button>
        )}
        {view.opened.size > 0 && <button type="button" onClick={() => view.change({ open: '' })}>Close all groups</button>}
        {view.folds.size > 0 && <button type="button" onClick={() => view.change({ fold: '' })}>Unfold all</button>}
        {(view.folding.pinned.size > 0 || view.folding.between.length > 0) && <button type="button" onClick={() => view.change({ pin: '', between: '' })}>Reset folding</button>}
        <span className="toolbar-end">
          <button type="button" aria-expanded={open === 'time'} aria-controls={timePanel} onClick={() => toggle('time')}>
            {view.asOf ? `Time: ${time(view.asOf)} UTC` : 'Time: now'}
          </button>
          <button type="button" aria-expanded={open === 'options'} aria-controls={optionsPanel} onClick={() => toggle('options')}>Options</button>
          <button type="button" className="quiet" title="Save as SVG" onClick={() => onSave('svg')}><Icon name="download" />SVG</button>
          <button type="button" className="quiet" title="Save as PNG" onClick={() => onSave('png')}><Icon name="download" />PNG</button>
        </span>
      </div>
      <div id={timePanel} hidden={open !== 'time'}>{children}</div>
      <div id={optionsPanel} hidden={open !== 'options'}><Options view={view} /></div>
    </>
  );
}

function ColourSelect({ view }: { view: View }) {
  const choices = view.dataset ? COLOURINGS : COLOURINGS.filter((each) => each !== 'personal');
  return (
    <label>
      <Icon name="colour" /> <span className="toolbar-word">Colour by</span>{' '}
      <select value={view.colouring} onChange={(event) => view.change({ colour: event.target.value === 'none' ? '' : event.target.value, personal: '' })}>
        {choices.map((each) => <option key={each} value={each}>{COLOURING_TITLES[each]}</option>)}
      </select>
    </label>
  );
}

function Options({ view }: { view: View }) {
  return (
    <div className="toolbar" role="group" aria-label="Options">
      <label>
        Groups{' '}
        <select value={view.group} onChange={(event) => view.change({ group: event.target.value, open: '' })}>
          {LEVELS.filter((level) => view.dataset || isMapLevel(level)).map((level) => <option key={level} value={level}>{LABELS[level]}</option>)}
        </select>
      </label>
      <DisplayOptions view={view} />
      <Check title="Include historical lineage" isOn={view.every} onChange={(isOn) => view.change({ view: isOn ? 'all' : '' })} />
    </div>
  );
}

function Check({ title, isOn, onChange }: { title: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label className="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
      {title}
    </label>
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
      <label><span className="sr">Find path to</span><input name="target" required placeholder="Find path to dataset#column" /></label> <button type="submit">Find</button>
    </form>
  );
}
