// Fetches the answers that a view needs, and builds its picture.
import { useMemo } from 'react';

import { ApiError, type Answer } from '../api/client';
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

export interface PictureResult {
  picture: Picture | undefined;
  /** The current tables, even if the view shows an earlier time. */
  now: Answer<'lineage'>['tables'] | undefined;
  error: Error | null;
  /** A sentence about the path or the map, such as why the path ends. */
  stops: string | undefined;
  /** The steps of the path. */
  path: Answer<'path'>['path'] | undefined;
}

export function usePicture(view: View): PictureResult {
  const focused = view.dataset !== '';
  const toTarget = focused && view.target.dataset !== '';
  const neighbourhood = useQuestion('lineage', view.parameters, { enabled: focused && !toTarget });
  const current = useQuestion('lineage', { ...view.parameters, asOf: '' }, { enabled: focused && !toTarget });
  const before = useQuestion('lineage', view.earlier, { enabled: focused && !toTarget && view.since !== '' });
  const { map, before: mapBefore, error: mapError, opened, isSingle } = useMap(view, !focused);
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
    if (!neighbourhood.data || (view.since && !before.data && !nothingThen)) return undefined;
    const after = pictureOf(neighbourhood.data);
    const old = nothingThen ? EMPTY : before.data && pictureOf(before.data);
    const whole = collapse(prune(view.since && old ? compare(old, after) : after, view.folds), view.group, view.opened);
    return view.jobs ? withJobs(whole) : whole;
  }, [toTarget, focused, path.data, map, mapBefore, neighbourhood.data, before.data, nothingThen, view]);
  const now = focused ? current.data?.tables : undefined;
  const error = toTarget ? path.error : focused ? neighbourhood.error : mapError;
  if (view.asOf && isUnknown(error))
    return { picture: EMPTY, now, error: null, path: undefined, stops: 'No dataset with this name existed at this time.' };
  const ended = toTarget ? path.data : undefined;
  const stops = ended ? endsAt(ended) : !focused && map && opened.length && isSingle ? `All datasets are in the group ${opened.map((id) => id.replace('group:', '')).at(-1) ?? ''}, which is open.` : undefined;
  return { picture: error ? undefined : picture, now, error, stops, path: ended?.path };
}

const EMPTY: Picture = { tables: [], edges: [], truncated: false };

/** Return whether an error means that the dataset did not exist at the requested time. */
const isUnknown = (error: Error | null): boolean => error instanceof ApiError && error.status === 404;

function endsAt(answer: Answer<'path'>): string {
  if (answer.reaches) return `The shortest path has ${count(answer.path.length)} ${answer.path.length === 1 ? 'step' : 'steps'}.`;
  if (!answer.stops.length) return 'There is no path. Try the opposite direction, or show indirect lineage.';
  return ['There is no path through columns.', ...stopSentences(answer.stops)].join(' ');
}
