"""Rule 7: impact and upstream. Breadth first over every edge; what came over a mask once more, without those."""

from collections.abc import Callable, Collection, Iterable
from typing import Literal, NamedTuple

from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.walks.column_graph import Graph
from headwater.lineage.walks.followed_edges import FollowedEdges
from headwater.lineage.walks.wave import Hit, Wave

Mode = Literal["value", "any"]


class Walked(NamedTuple):
    """Hits in order of (distance, namespace, dataset, column); truncated: there are more than asked for.

    ways: all that was reached, also what is gone, by node; which edge led there is for `wave` to choose.
    """

    hits: list[Hit]
    ways: dict[int, Hit]
    truncated: bool
    wave: Wave


def walk(
    graph: Graph, starts: Collection[int], counted: CountedEdges, *, forward: bool, mode: Mode, depth: int, limit: int
) -> Walked:
    """Return the columns reached from `starts`, which are left out: at most `limit`, at most `depth` edges away."""

    def wave(*, masked: bool, readers: bool, by: CountedEdges = counted) -> Wave:
        return Wave(
            graph,
            starts,
            by,
            forward=forward,
            allowed=allowed_transformations(graph, mode, masked=masked),
            readers=readers,
        )

    every = wave(masked=True, readers=forward)
    hits: list[Hit] = []
    ways: dict[int, Hit] = {}
    while every.front and every.distance < depth and len(hits) <= limit:
        found = every.advance(None if counted.hidden else limit + 1 - len(hits))
        ways.update((hit.node, hit) for hit in found)
        hits += _shown(graph, found, counted)
    truncated = len(hits) > limit or _goes_on(graph, every, counted)
    is_whole = every.is_simple and len(every.reached) == len(ways) + len(every.starts)

    def take_out(doubtful: set[int], *, masked: bool, by: CountedEdges = counted) -> None:
        if doubtful and is_whole:
            back = by.followed(allowed_transformations(graph, mode, masked=masked), forward=not forward)
            _take_out_of_whole(doubtful, every.reached, back)
        else:
            _take_out(doubtful, lambda: wave(masked=masked, readers=forward, by=by))

    masked = _over_a_mask(graph, ways.values())
    take_out(masked, masked=False)  # another way, perhaps longer, may be without a mask
    again = set(ways) if every.reread else set()
    _take_out(again, lambda: wave(masked=True, readers=False))
    earlier = _over_earlier(ways.values(), counted)
    take_out(earlier, masked=True, by=counted.without_earlier())
    presumed = _over_presumed(ways.values(), counted)
    take_out(presumed, masked=True, by=counted.without_presumed)
    kept = list(every.chosen(hits[:limit]))
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
    return Walked(kept, ways, truncated, every)


def _shown(graph: Graph, hits: Iterable[Hit], counted: CountedEdges) -> Iterable[Hit]:
    return (hit for hit in hits if graph.dataset_of[hit.node] not in counted.hidden) if counted.hidden else hits


def _goes_on(graph: Graph, wave: Wave, counted: CountedEdges) -> bool:
    """Tell whether a walk that was cut off would reach more than what is gone."""
    while wave.front:
        if any(_shown(graph, wave.advance(None if counted.hidden else 1), counted)):
            return True
    return False


def _over_a_mask(graph: Graph, hits: Iterable[Hit]) -> set[int]:
    """Return the nodes that were reached over a step that masks; nearer hits come first."""
    masks = [transformation.masked for transformation in graph.transformations]
    found: set[int] = set()
    if any(masks):
        for hit in hits:
            if masks[hit.transformation] or hit.parent in found:
                found.add(hit.node)
    return found


def _over_earlier(hits: Iterable[Hit], counted: CountedEdges) -> set[int]:
    """Return the nodes that were reached over an edge of an earlier execution; nearer hits come first."""
    found: set[int] = set()
    if counted.newest:
        for hit in hits:
            if not counted.newest[hit.edge_set] or hit.parent in found:
                found.add(hit.node)
    return found


def _over_presumed(hits: Iterable[Hit], counted: CountedEdges) -> set[int]:
    """Return the nodes that were reached over an edge of a job that is presumed retired; nearer hits come first."""
    found: set[int] = set()
    if counted.presumed:
        for hit in hits:
            if hit.edge_set in counted.presumed or hit.parent in found:
                found.add(hit.node)
    return found


def _take_out(nodes: set[int], begin: Callable[[], Wave]) -> None:
    """Take out the nodes that another walk reaches."""
    if nodes:
        wave = begin()
        while nodes and wave.front:
            nodes.difference_update(wave.spread())


def _take_out_of_whole(nodes: set[int], reached: Collection[int], back: FollowedEdges) -> None:
    """Take out the nodes to which one of some edges leads from a node that is not among them.

    reached: all that a walk over more edges reached, the starts included. It is cheaper than another walk.
    """
    taken: list[int] = []
    behind: dict[int, list[int]] = {}
    for node in nodes:
        for source in back.sources(node):
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
    """Return by `How` number, 1 where a walk may go: `value` follows DIRECT edges, `any` all."""
    passes = bytes(
        (mode == "any" or transformation.direct) and (masked or not transformation.masked)
        for transformation in graph.transformations
    )
    return b"\1" + passes[1:]
