// The state of the lineage page, stored in its address.
import { useMemo } from 'react';

import { granularityOf, type Granularity } from '../parts/granularity';
import { useAddressState } from '../parts/useAddressState';
import { isMapLevel, LEVELS, type Level } from './collapse';
import { COLOURINGS, type Colouring } from './colouring';
import type { Folding } from './fold';
import type { PictureTable } from './picture';

export const ALL = 1_000;
const FAR = 1;

export interface View extends Pick<LineageParameters, 'namespace' | 'dataset' | 'column' | 'up' | 'down' | 'mode' | 'asOf'> {
  every: boolean;
  group: Level;
  opened: ReadonlySet<string>;
  folds: ReadonlySet<string>;
  /** Pinned tables, and pairs of tables with everything between them folded. */
  folding: Folding;
  /** Whether to draw all tables without folding. */
  whole: boolean;
  /** Whether to draw jobs as boxes. */
  jobs: boolean;
  /** What the colours of boxes show. */
  colouring: Colouring;
  since: string;
  target: { namespace: string; dataset: string; column: string };
  /** The parameters of the question `lineage`. `earlier` has the parameters for the earlier time to compare with. */
  parameters: LineageParameters;
  earlier: LineageParameters;
  lens: Readonly<Record<string, string>>;
  about: string;
  change: (changes: Readonly<Record<string, string | number>>) => void;
  focus: (table: PictureTable, column: string) => void;
  openGroup: (id: string) => void;
  fold: (fold: string) => void;
  pathTo: (table: PictureTable) => void;
  pin: (id: string) => void;
  foldBetween: (from: string, to: string) => void;
}

interface LineageParameters {
  namespace: string;
  dataset: string;
  column: string;
  up: number;
  down: number;
  mode: 'value' | 'any';
  view: string;
  asOf: string;
  limit: number;
  granularity: Granularity;
  system: string;
}

/** personal: the parameter of addresses that were saved before `colour` existed. */
function colouringOf(colour: string, personal: string): Colouring {
  return COLOURINGS.find((each) => each === colour) ?? (personal === 'true' ? 'personal' : 'none');
}

export function useView(): View {
  const state = useAddressState();
  return useMemo(() => {
    const [namespace, dataset, column] = [state.get('namespace'), state.get('dataset'), state.get('column')];
    const far = (name: string) => (/^\d{1,4}$/.test(state.get(name)) ? Math.min(ALL, Number(state.get(name))) : column ? ALL : FAR);
    const group = LEVELS.find((level) => level === state.get('group') && (dataset || isMapLevel(level))) ?? (dataset ? 'none' : 'namespace');
    const mode = state.get('mode') === 'any' ? ('any' as const) : ('value' as const);
    const every = state.get('view') === 'all';
    const [asOf, since] = [state.get('asOf'), state.get('since')];
    const view = every ? 'all' : '';
    const parameters = {
      namespace, dataset, column, up: far('up'), down: far('down'), mode, view, asOf, limit: column ? 5_000 : 2_000,
      granularity: granularityOf(state.get('granularity')), system: state.get('system') === 'true' ? 'true' : '',
    }; // prettier-ignore
    const [opened, folds, pinned, between] = [state.all('open'), state.all('fold'), state.all('pin'), state.all('between')];
    const pairs = between.flatMap((pair) => pairOf(pair));
    const target = { namespace: state.get('toNamespace'), dataset: state.get('toDataset'), column: state.get('toColumn') };
    return {
      namespace, dataset, column, up: parameters.up, down: parameters.down, mode, every, group, asOf, since, target, parameters,
      earlier: { ...parameters, asOf: since },
      opened: new Set(opened), folds: new Set(folds), folding: { pinned: new Set(pinned), between: pairs },
      whole: state.get('stacks') === 'open', jobs: state.get('jobs') === 'nodes' && column === '', colouring: colouringOf(state.get('colour'), state.get('personal')), lens: { view, asOf },
      about: JSON.stringify([namespace, dataset, column, group, target, opened.length]),
      change: (changes) => state.set(changes, 'asOf' in changes),
      focus: (table, name) =>
        state.set({
          namespace: table.namespace, dataset: table.name, column: name, up: '', down: '', fold: '', open: '', pin: '', between: '', stacks: '',
          toNamespace: '', toDataset: '', toColumn: '', group: '',
        }),
      openGroup: (id) => state.set({ open: [...opened, id] }),
      fold: (fold) => state.set({ fold: folds.includes(fold) ? folds.filter((each) => each !== fold) : [...folds, fold] }),
      pin: (id) => state.set({ pin: [...new Set([...pinned, id])] }),
      foldBetween: (from, to) => state.set({ between: [...between, JSON.stringify([from, to])], pin: '' }),
      pathTo: (table) => state.set({ toNamespace: table.namespace, toDataset: table.name, toColumn: '' }),
    }; // prettier-ignore
  }, [state]);
}

/** Parse a pair of ids from the address. Returns an empty list if the text is not a valid pair. */
function pairOf(text: string): [string, string][] {
  try {
    const [from, to] = JSON.parse(text) as unknown[];
    return typeof from === 'string' && typeof to === 'string' ? [[from, to]] : [];
  } catch {
    return [];
  }
}
