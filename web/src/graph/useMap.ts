// The map of groups. The page opens all groups of a small lake, and a group that contains all datasets, at most twice: from namespace to schema.
import { ApiError, type Answer } from '../api/client';
import { useQuestion } from '../api/hooks';
import { mapParameters } from './mapParameters';
import type { View } from './view';

type Map = Answer<'graph'>;

interface Found {
  map: Map | undefined;
  /** The map at the earlier time, for a comparison. */
  before: Map | undefined;
  error: Error | null;
  /** Groups that the page opened automatically. */
  opened: readonly string[];
  /** Whether one group contains all datasets. */
  isSingle: boolean;
}

export function useMap(view: View, enabled: boolean): Found {
  const outer = useQuestion('graph', mapParameters(view, view.asOf), { enabled });
  const first = groupsToOpen(outer.data);
  const inner = useQuestion('graph', mapParameters(view, view.asOf, first), { enabled: enabled && first.length > 0 });
  const second = first.length && isCurrent(inner) ? groupsToOpen(inner.data) : [];
  const innermost = useQuestion('graph', mapParameters(view, view.asOf, [...first, ...second]), { enabled: enabled && second.length > 0 });
  const [found, opened] = second.length && canShow(innermost) ? [innermost, [...first, ...second]] : first.length && canShow(inner) ? [inner, first] : [outer, []];
  const waits = [first.length && inner, second.length && innermost].some((each) => each && !each.error && !isCurrent(each));
  const earlier = useQuestion('graph', mapParameters(view, view.since, opened), { enabled: enabled && view.since !== '' && !waits });
  const before = earlier.error instanceof ApiError && earlier.error.status === 404 ? NOTHING : earlier.data; // the group did not exist then
  return { map: waits ? undefined : found.data, before, error: outer.error, opened, isSingle: outer.data?.totalCount === 1 };
}

const NOTHING: Map = { groups: 'namespace', nodes: [], edges: [], totalCount: 0, hidden: 0, truncated: false };

type GraphQuery = Pick<ReturnType<typeof useQuestion<'graph'>>, 'data' | 'isPlaceholderData'>;

const isCurrent = ({ data, isPlaceholderData }: GraphQuery): boolean => data !== undefined && !isPlaceholderData;

/** Return whether the answer is current and contains the whole content of the opened group. */
const canShow = (query: GraphQuery): boolean => isCurrent(query) && query.data?.truncated === false;

/** The largest number of datasets of which the page shows all. */
const SMALL = 40;

/** Return the ids of all groups of a small lake, or of the group that contains all datasets. The list may be empty. */
export function groupsToOpen(map: Map | undefined): string[] {
  const groups = map?.nodes.filter((node) => node.kind === 'group') ?? [];
  const isSmall = map?.truncated === false && map.nodes.reduce((sum, node) => sum + node.datasets, 0) <= SMALL;
  return isSmall || (map?.totalCount === 1 && groups.length) ? groups.map((group) => group.id) : [];
}
