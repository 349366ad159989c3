// The map of groups; a group that holds all there is says nothing, so it is opened, twice at most: from namespace to schema.
import { Refused, type Answer } from '../api/client';
import { useQuestion } from '../api/hooks';
import { mapAsked } from './mapAsked';
import type { View } from './view';

type Map = Answer<'graph'>;

interface Found {
  map: Map | undefined;
  /** The same at the earlier moment that it is compared with. */
  before: Map | undefined;
  error: Error | null;
  /** Groups that were alone. */
  opened: readonly string[];
}

export function useMap(view: View, enabled: boolean): Found {
  const outer = useQuestion('graph', mapAsked(view, view.asOf), { enabled });
  const first = aloneIn(outer.data);
  const inner = useQuestion('graph', mapAsked(view, view.asOf, first), { enabled: enabled && first.length > 0 });
  const second = first.length && isOfNow(inner) ? aloneIn(inner.data) : [];
  const innermost = useQuestion('graph', mapAsked(view, view.asOf, [...first, ...second]), { enabled: enabled && second.length > 0 });
  const [found, opened] = second.length && canShow(innermost) ? [innermost, [...first, ...second]] : first.length && canShow(inner) ? [inner, first] : [outer, []];
  const waits = [first.length && inner, second.length && innermost].some((each) => each && !each.error && !isOfNow(each));
  const earlier = useQuestion('graph', mapAsked(view, view.since, opened), { enabled: enabled && view.since !== '' && !waits });
  const before = earlier.error instanceof Refused && earlier.error.status === 404 ? NOTHING : earlier.data; // no group of that name was there
  return { map: waits ? undefined : found.data, before, error: outer.error, opened };
}

const NOTHING: Map = { groups: 'namespace', nodes: [], edges: [], totalCount: 0, hidden: 0, truncated: false };

type Asked = Pick<ReturnType<typeof useQuestion<'graph'>>, 'data' | 'isPlaceholderData'>;

const isOfNow = ({ data, isPlaceholderData }: Asked): boolean => data !== undefined && !isPlaceholderData;

/** What is in it can be drawn as a whole. */
const canShow = (asked: Asked): boolean => isOfNow(asked) && asked.data?.truncated === false;

/** The group that holds all there is, if one does. */
export function aloneIn(map: Map | undefined): string[] {
  const [only] = map?.nodes ?? [];
  return map?.totalCount === 1 && only?.kind === 'group' ? [only.id] : [];
}
