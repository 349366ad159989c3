// The colours of boxes: what users choose under `Colour by`, and the mark that each box then has.
import { createContext, useMemo } from 'react';

import { useQuestion } from '../api/hooks';
import { EXPOSURE_WORDS } from '../parts/exposureWords';
import { count } from '../parts/format';
import type { HealthItem } from '../parts/health';
import { testsOf } from '../parts/qualityTests';
import type { Exposure } from './exposureKeys';
import { layerOf } from './layer';
import { tableId, type PictureTable } from './picture';

export const COLOURINGS = ['none', 'personal', 'health', 'tests', 'freshness', 'owner', 'layer'] as const;
export type Colouring = (typeof COLOURINGS)[number];

export const COLOURING_TITLES: Readonly<Record<Colouring, string>> = {
  none: 'nothing', personal: 'personal data', health: 'health', tests: 'tests', freshness: 'freshness', owner: 'owner', layer: 'layer',
}; // prettier-ignore

/** The mark of a box. tone: the name of a colour in tokens.css. */
export interface ColourMark {
  tone: 'good' | 'warn' | 'bad' | 'dim' | 'c1' | 'c2' | 'c3' | 'c4' | 'c5' | 'landing' | 'bronze' | 'silver' | 'gold' | 'platinum';
  word: string;
}

interface BoxColours {
  kind: Colouring;
  /** Marks by the id of a table, for the kinds that need no question for each box. */
  marks: ReadonlyMap<string, ColourMark>;
}

export const BoxColoursContext = createContext<BoxColours>({ kind: 'none', marks: new Map() });

const LIMIT = 1_000;

/** Return the marks of all boxes. Health and freshness have none here, because each box fetches its own health. */
export function useBoxColours(kind: Colouring, tables: readonly PictureTable[] | undefined, exposures: ReadonlyMap<string, Exposure>): BoxColours & { note: string | undefined } {
  const owners = useQuestion('datasets', { limit: LIMIT }, { enabled: kind === 'owner' });
  const tests = useQuestion('facets', { entity: 'dataset', name: 'dataQualityAssertions', limit: LIMIT }, { enabled: kind === 'tests' });
  return useMemo(() => {
    const known = kind === 'owner' ? ownerMarks(owners.data?.items ?? []) : kind === 'tests' ? testMarks(tests.data?.items ?? []) : kind === 'personal' ? exposureMarks(exposures) : undefined;
    const ofLayer = (table: PictureTable): ColourMark | undefined => {
      const layer = layerOf(table.name);
      return layer && { tone: layer, word: layer };
    };
    const marks = new Map(
      (tables ?? []).flatMap((table): [string, ColourMark][] => {
        if (table.kind !== 'table') return [];
        const mark = kind === 'layer' ? ofLayer(table) : (known?.get(table.id) ?? MISSING[kind]);
        return mark ? [[table.id, mark]] : [];
      }),
    );
    const source = kind === 'owner' ? owners : kind === 'tests' ? tests : undefined;
    const note = source?.error ? `The colours are missing: ${source.error.message}` : source?.data?.truncated ? `Only the first ${count(LIMIT)} datasets have a colour.` : undefined;
    return { kind, marks, note };
  }, [kind, tables, exposures, owners, tests]);
}

/** The mark of a box about which nothing is known. */
const MISSING: Partial<Record<Colouring, ColourMark>> = { owner: { tone: 'dim', word: 'no owner' }, tests: { tone: 'dim', word: 'no tests' } };

const TONES = ['c1', 'c2', 'c3', 'c4', 'c5'] as const;

function ownerMarks(items: readonly { namespace: string; name: string; owners: readonly string[] }[]): Map<string, ColourMark> {
  const names = [...new Set(items.flatMap(({ owners }) => owners.slice(0, 1)))].sort();
  return new Map(
    items.flatMap(({ namespace, name, owners: [owner, ...others] }): [string, ColourMark][] =>
      owner === undefined ? [] : [[tableId(namespace, name), { tone: TONES[names.indexOf(owner) % TONES.length] ?? 'c1', word: others.length ? `${owner} +${count(others.length)}` : owner }]],
    ),
  );
}

function testMarks(items: readonly { namespace?: string; name?: string; facet?: unknown }[]): Map<string, ColourMark> {
  return new Map(
    items.flatMap(({ namespace = '', name = '', facet }): [string, ColourMark][] => {
      const tests = testsOf({ dataQualityAssertions: facet });
      const failed = tests.filter((each) => !each.passed).length;
      if (!tests.length) return [];
      return [[tableId(namespace, name), failed ? { tone: 'bad', word: `${count(failed)} of ${count(tests.length)} failed` } : { tone: 'good', word: `${count(tests.length)} passed` }]];
    }),
  );
}

const WORST = ['exposed', 'once_exposed', 'unknown', 'masked'] as const;
const EXPOSURE_TONES = { exposed: 'bad', once_exposed: 'warn', unknown: 'warn', masked: 'good' } as const;

/** The worst state of the columns of each table. */
function exposureMarks(exposures: ReadonlyMap<string, Exposure>): Map<string, ColourMark> {
  const kinds = new Map<string, Set<Exposure['kind']>>();
  for (const [key, { kind }] of exposures) {
    const [table = ''] = JSON.parse(key) as string[];
    kinds.set(table, (kinds.get(table) ?? new Set()).add(kind));
  }
  return new Map(
    [...kinds].flatMap(([table, found]): [string, ColourMark][] => {
      const worst = WORST.find((each) => found.has(each));
      return worst ? [[table, { tone: EXPOSURE_TONES[worst], word: EXPOSURE_WORDS[worst] }]] : [];
    }),
  );
}

const HEALTH: Readonly<Record<HealthItem['status'], ColourMark>> = {
  ok: { tone: 'good', word: 'on time' }, late: { tone: 'warn', word: 'late' }, stale: { tone: 'warn', word: 'stale' }, failed: { tone: 'bad', word: 'failed' }, unknown: { tone: 'dim', word: 'unknown' },
}; // prettier-ignore
const DAY_MS = 86_400_000;

/** The mark of a box for health or freshness. now: ms since 1970. */
export function healthMark(kind: Colouring, item: HealthItem | null | undefined, now: number): ColourMark | undefined {
  if (kind === 'health') return HEALTH[item?.status ?? 'unknown'];
  if (kind !== 'freshness') return undefined;
  const days = item?.last_success ? (now - Date.parse(item.last_success)) / DAY_MS : NaN;
  if (Number.isNaN(days)) return { tone: 'dim', word: 'never written' };
  return days < 1 ? { tone: 'good', word: '< 1 day' } : days < 7 ? { tone: 'warn', word: '< 7 days' } : { tone: 'bad', word: `${count(Math.floor(days))} days` };
}
