// What the lineage page shows, read from its address and changed there.
import { useMemo } from 'react';

import { granularityOf, type Granularity } from '../parts/granularity';
import { useAddressState } from '../parts/useAddressState';
import { LEVELS, type Level } from './collapse';
import type { Folding } from './fold';
import type { PictureTable } from './picture';

export const ALL = 1_000;
const FAR = 1;

export interface View extends Pick<Asked, 'namespace' | 'dataset' | 'column' | 'up' | 'down' | 'mode' | 'asOf'> {
  every: boolean;
  group: Level;
  opened: ReadonlySet<string>;
  folds: ReadonlySet<string>;
  /** What is drawn although it would be stacked, and pairs of tables between which all is folded. */
  folding: Folding;
  /** Nothing is stacked. */
  whole: boolean;
  /** Jobs are boxes of their own. */
  jobs: boolean;
  since: string;
  target: { namespace: string; dataset: string; column: string };
  /** What the `lineage` question is asked with, now and then. */
  asked: Asked;
  earlier: Asked;
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

interface Asked {
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

export function useView(): View {
  const state = useAddressState();
  return useMemo(() => {
    const [namespace, dataset, column] = [state.get('namespace'), state.get('dataset'), state.get('column')];
    const far = (name: string) => (/^\d{1,4}$/.test(state.get(name)) ? Math.min(ALL, Number(state.get(name))) : column ? ALL : FAR);
    const group = LEVELS.find((level) => level === state.get('group')) ?? (dataset ? 'none' : 'namespace');
    const mode = state.get('mode') === 'any' ? ('any' as const) : ('value' as const);
    const every = state.get('view') === 'all';
    const [asOf, since] = [state.get('asOf'), state.get('since')];
    const view = every ? 'all' : '';
    const asked = {
      namespace, dataset, column, up: far('up'), down: far('down'), mode, view, asOf, limit: column ? 5_000 : 2_000,
      granularity: granularityOf(state.get('granularity')), system: state.get('system') === 'true' ? 'true' : '',
    }; // prettier-ignore
    const [opened, folds, pinned, between] = [state.all('open'), state.all('fold'), state.all('pin'), state.all('between')];
    const pairs = between.flatMap((pair) => pairOf(pair));
    const target = { namespace: state.get('toNamespace'), dataset: state.get('toDataset'), column: state.get('toColumn') };
    return {
      namespace, dataset, column, up: asked.up, down: asked.down, mode, every, group, asOf, since, target, asked,
      earlier: { ...asked, asOf: since },
      opened: new Set(opened), folds: new Set(folds), folding: { pinned: new Set(pinned), between: pairs },
      whole: state.get('stacks') === 'open', jobs: state.get('jobs') === 'nodes' && column === '', lens: { view, asOf },
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

/** Two ids as the address has them; what is none is left out. */
function pairOf(text: string): [string, string][] {
  try {
    const [from, to] = JSON.parse(text) as unknown[];
    return typeof from === 'string' && typeof to === 'string' ? [[from, to]] : [];
  } catch {
    return [];
  }
}
