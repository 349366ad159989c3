"""Rule 7: impact and upstream. Breadth first over every edge; what came over a mask once more, without those."""

from collections.abc import Callable, Collection, Iterable
from typing import Literal, NamedTuple

from headwater.lineage.graph import Graph
from headwater.lineage.view import View
from headwater.lineage.wave import Hit, Wave

Mode = Literal["value", "any"]


class Walked(NamedTuple):
    """Hits in order of (distance, namespace, dataset, column); truncated: there are more than asked for.

    ways: all that was reached, also what is gone, by node.
    """

    hits: list[Hit]
    ways: dict[int, Hit]
    truncated: bool


def walk(
    graph: Graph, starts: Collection[int], view: View, *, forward: bool, mode: Mode, depth: int, limit: int
) -> Walked:
    """Return the columns reached from `starts`, which are left out: at most `limit`, at most `depth` edges away."""

    def wave(*, masked: bool, readers: bool) -> Wave:
        return Wave(
            graph, starts, view, forward=forward, allowed=allowed_hows(graph, mode, masked=masked), readers=readers
        )

    every = wave(masked=True, readers=forward)
    hits: list[Hit] = []
    ways: dict[int, Hit] = {}
    while every.front and every.distance < depth and len(hits) <= limit:
        found = every.advance(None if view.hidden else limit + 1 - len(hits))
        ways.update((hit.node, hit) for hit in found)
        hits += _shown(graph, found, view)
    truncated = len(hits) > limit or _goes_on(graph, every, view)
    masked = _over_a_mask(graph, ways.values())
    _take_out(masked, lambda: wave(masked=False, readers=forward))  # another way, perhaps longer, may be without a mask
    again = set(ways) if every.reread else set()
    _take_out(again, lambda: wave(masked=True, readers=False))
    kept = (hit._replace(masked=hit.node in masked, recreated=hit.node in again) for hit in hits[:limit])
    return Walked(list(kept) if masked or again else hits[:limit], ways, truncated)


def _shown(graph: Graph, hits: Iterable[Hit], view: View) -> Iterable[Hit]:
    return (hit for hit in hits if graph.dataset_of[hit.node] not in view.hidden) if view.hidden else hits


def _goes_on(graph: Graph, wave: Wave, view: View) -> bool:
    """Tell whether a walk that was cut off would reach more than what is gone."""
    while wave.front:
        if any(_shown(graph, wave.advance(None if view.hidden else 1), view)):
            return True
    return False


def _over_a_mask(graph: Graph, hits: Iterable[Hit]) -> set[int]:
    """Return the nodes that were reached over a step that masks; nearer hits come first."""
    masks = [how.masked for how in graph.hows]
    found: set[int] = set()
    if any(masks):
        for hit in hits:
            if masks[hit.how] or hit.parent in found:
                found.add(hit.node)
    return found


def _take_out(nodes: set[int], begin: Callable[[], Wave]) -> None:
    """Take out the nodes that another walk reaches."""
    if nodes:
        wave = begin()
        while nodes and wave.front:
            nodes.difference_update(hit.node for hit in wave.advance())


def allowed_hows(graph: Graph, mode: Mode, *, masked: bool) -> bytes:
    """Return by `How` number, 1 where a walk may go: `value` follows DIRECT edges, `any` all."""
    passes = bytes((mode == "any" or how.direct) and (masked or not how.masked) for how in graph.hows)
    return b"\1" + passes[1:]
