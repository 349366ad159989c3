"""Rule 7: impact and upstream.

A breadth-first search follows every edge. Further searches without masks, earlier executions or jobs presumed retired
find the results that depend on them.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Literal, NamedTuple

from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.traversal.column_graph import Graph
from headwater.lineage.traversal.followed_edges import FollowedEdges
from headwater.lineage.traversal.frontier import FrontierSearch, Hit

Mode = Literal["value", "any"]


class WalkResult(NamedTuple):
    """The result of a walk.

    hits: the reached columns, in order of (distance, namespace, dataset, column).
    hits_by_node: maps nodes to their hits, including columns of dropped datasets.
    truncated: whether there are more hits than the limit.
    search: the search of the walk. `search.with_chosen_edges` selects the edges of the hits in `hits_by_node`.
    """

    hits: list[Hit]
    hits_by_node: dict[int, Hit]
    truncated: bool
    search: FrontierSearch


def walk_lineage(
    graph: Graph, starts: Collection[int], counted: CountedEdges, *, forward: bool, mode: Mode, depth: int, limit: int
) -> WalkResult:
    """Return the columns that edges reach from `starts`, without the starts themselves.

    forward: True for impact, False for upstream.
    mode: `value` follows only DIRECT edges, `any` follows all edges.
    depth: the maximum distance in edges. limit: the maximum number of hits.
    """

    def search(*, masked: bool, readers: bool, by: CountedEdges = counted) -> FrontierSearch:
        return FrontierSearch(
            graph,
            starts,
            by,
            forward=forward,
            allowed=allowed_transformations(graph, mode, masked=masked),
            follow_readers=readers,
        )

    every = search(masked=True, readers=forward)
    hits: list[Hit] = []
    ways: dict[int, Hit] = {}
    while every.frontier and every.distance < depth and len(hits) <= limit:
        found = every.advance(None if counted.dropped_datasets else limit + 1 - len(hits))
        ways.update((hit.node, hit) for hit in found)
        hits += _hits_shown(graph, found, counted)
    truncated = len(hits) > limit or _has_further_hits(graph, every, counted)
    is_whole = every.is_simple and len(every.reached) == len(ways) + len(every.starts)

    def take_out(doubtful: set[int], *, masked: bool, by: CountedEdges = counted) -> None:
        if doubtful and is_whole:
            back = by.followed_edges(allowed_transformations(graph, mode, masked=masked), forward=not forward)
            _remove_reached_within(doubtful, every.reached, back)
        else:
            _remove_reached(doubtful, lambda: search(masked=masked, readers=forward, by=by))

    masked = _reached_over_mask(graph, ways.values())
    take_out(masked, masked=False)  # a longer path to the same node may not mask
    again = set(ways) if every.used_other_generations else set()
    _remove_reached(again, lambda: search(masked=True, readers=False))
    earlier = _reached_over_earlier(ways.values(), counted)
    take_out(earlier, masked=True, by=counted.newest_executions_only())
    presumed = _reached_over_presumed(ways.values(), counted)
    take_out(presumed, masked=True, by=counted.without_presumed_retired)
    kept = list(every.with_chosen_edges(hits[:limit]))
    marked = masked | again | earlier | presumed
    if marked:
        kept = [
            hit._replace(
                masked=hit.node in masked,
                recreated=hit.node in again,
                earlier=hit.node in earlier,
                presumed=hit.node in presumed,
            )
            if hit.node in marked
            else hit
            for hit in kept
        ]
    return WalkResult(kept, ways, truncated, every)


def _hits_shown(graph: Graph, hits: Iterable[Hit], counted: CountedEdges) -> Iterable[Hit]:
    return (
        (hit for hit in hits if graph.dataset_of[hit.node] not in counted.dropped_datasets)
        if counted.dropped_datasets
        else hits
    )


def _has_further_hits(graph: Graph, search: FrontierSearch, counted: CountedEdges) -> bool:
    """Tell whether a truncated walk would reach further columns of datasets that are not dropped."""
    while search.frontier:
        if any(_hits_shown(graph, search.advance(None if counted.dropped_datasets else 1), counted)):
            return True
    return False


def _reached_over_mask(graph: Graph, hits: Iterable[Hit]) -> set[int]:
    """Return the nodes that were reached over an edge that masks; hits: in order of distance."""
    masks = [transformation.is_masked for transformation in graph.transformations]
    found: set[int] = set()
    if any(masks):
        for hit in hits:
            if masks[hit.transformation] or hit.parent in found:
                found.add(hit.node)
    return found


def _reached_over_earlier(hits: Iterable[Hit], counted: CountedEdges) -> set[int]:
    """Return the nodes that were reached over an edge of an earlier execution; hits: in order of distance."""
    found: set[int] = set()
    if counted.newest_mask:
        for hit in hits:
            if not counted.newest_mask[hit.edge_set] or hit.parent in found:
                found.add(hit.node)
    return found


def _reached_over_presumed(hits: Iterable[Hit], counted: CountedEdges) -> set[int]:
    """Return the nodes that were reached over an edge of a job presumed retired; hits: in order of distance."""
    found: set[int] = set()
    if counted.presumed_retired:
        for hit in hits:
            if hit.edge_set in counted.presumed_retired or hit.parent in found:
                found.add(hit.node)
    return found


def _remove_reached(nodes: set[int], begin: Callable[[], FrontierSearch]) -> None:
    """Remove from `nodes` the nodes that another search reaches; begin: returns this search."""
    if nodes:
        search = begin()
        while nodes and search.frontier:
            nodes.difference_update(search.advance_unordered())


def _remove_reached_within(nodes: set[int], reached: Collection[int], back: FollowedEdges) -> None:
    """Remove from `nodes` the nodes that a walk over fewer edges reaches, too. This is cheaper than the walk itself.

    A node is removed if an edge of `back` leads from it to a removed node, or to a reached node that is not in `nodes`.
    reached: all nodes that the walk over all edges reached, including the starts.
    back: the fewer edges, against the direction of the walk.
    """
    taken: list[int] = []
    behind: dict[int, list[int]] = {}
    for node in nodes:
        for source in back.far_columns(node):
            if source in nodes:
                behind.setdefault(source, []).append(node)
            elif source in reached:
                taken.append(node)
                break
    while taken:
        node = taken.pop()
        if node in nodes:
            nodes.discard(node)
            taken += behind.get(node, ())


def allowed_transformations(graph: Graph, mode: Mode, *, masked: bool) -> bytes:
    """Return a mask with one byte for each transformation number, which is 1 if a walk may follow its edges.

    mode: `value` follows only DIRECT edges, `any` follows all edges.
    masked: whether the walk may follow edges that mask.
    """
    passes = bytes(
        (mode == "any" or transformation.is_direct) and (masked or not transformation.is_masked)
        for transformation in graph.transformations
    )
    return b"\1" + passes[1:]
