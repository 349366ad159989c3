// The picture that a view means, from the answers it needs.
import { useMemo } from 'react';

import { Refused, type Answer } from '../api/client';
import { useQuestion } from '../api/hooks';
import { count } from '../parts/format';
import { collapse } from './collapse';
import { compare } from './compare';
import { withJobs } from './jobs';
import { pathPicture } from './path';
import { mapOf, pictureOf, type Picture } from './picture';
import { prune } from './prune';
import { stopSentences } from './stops';
import { useMap } from './useMap';
import type { View } from './view';

export interface Drawn {
  picture: Picture | undefined;
  /** The tables that there are now, whatever moment is looked at. */
  now: Answer<'lineage'>['tables'] | undefined;
  error: Error | null;
  /** Why a way ends, or the map begins where it does. */
  stops: string | undefined;
  /** The steps of the asked way. */
  way: Answer<'path'>['path'] | undefined;
}

export function useDrawn(view: View): Drawn {
  const focused = view.dataset !== '';
  const toTarget = focused && view.target.dataset !== '';
  const around = useQuestion('lineage', view.asked, { enabled: focused && !toTarget });
  const current = useQuestion('lineage', { ...view.asked, asOf: '' }, { enabled: focused && !toTarget });
  const before = useQuestion('lineage', view.earlier, { enabled: focused && !toTarget && view.since !== '' });
  const { map, before: mapBefore, error: mapError, opened } = useMap(view, !focused);
  const path = useQuestion(
    'path',
    {
      fromNamespace: view.namespace, fromDataset: view.dataset, fromColumn: view.column, toNamespace: view.target.namespace,
      toDataset: view.target.dataset, toColumn: view.target.column, mode: view.mode, ...view.lens,
    },
    { enabled: toTarget },
  ); // prettier-ignore
  const nothingThen = isUnknown(before.error) && view.since !== '';
  const picture = useMemo(() => {
    if (toTarget) return path.data && pathPicture(path.data);
    if (!focused) {
      const now = map && mapOf(map);
      return now && view.since && mapBefore ? compare(mapOf(mapBefore), now) : now;
    }
    if (!around.data || (view.since && !before.data && !nothingThen)) return undefined;
    const after = pictureOf(around.data);
    const old = nothingThen ? EMPTY : before.data && pictureOf(before.data);
    const whole = collapse(prune(view.since && old ? compare(old, after) : after, view.folds), view.group, view.opened);
    return view.jobs ? withJobs(whole) : whole;
  }, [toTarget, focused, path.data, map, mapBefore, around.data, before.data, nothingThen, view]);
  const now = focused ? current.data?.tables : undefined;
  const error = toTarget ? path.error : focused ? around.error : mapError;
  if (view.asOf && isUnknown(error))
    return { picture: EMPTY, now, error: null, way: undefined, stops: 'Nothing of this name was known at that moment.' };
  const ended = toTarget ? path.data : undefined;
  const stops = ended ? endsAt(ended) : !focused && map && opened.length ? `All of it lies in ${opened.map((id) => id.replace('group:', '')).at(-1) ?? ''}, which is opened.` : undefined;
  return { picture: error ? undefined : picture, now, error, stops, way: ended?.path };
}

const EMPTY: Picture = { tables: [], edges: [], truncated: false };

/** Nothing of this name was known at that moment. */
const isUnknown = (error: Error | null): boolean => error instanceof Refused && error.status === 404;

function endsAt(answer: Answer<'path'>): string {
  if (answer.reaches) return `The shortest way has ${count(answer.path.length)} ${answer.path.length === 1 ? 'step' : 'steps'}.`;
  if (!answer.stops.length) return 'No way leads there. Try it the other way round, or with mode any.';
  return ['No way by columns.', ...stopSentences(answer.stops)].join(' ');
}
