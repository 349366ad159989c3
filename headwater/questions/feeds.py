"""What leads into a column directly, or out of it; over what is gone the way is one step."""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.lineage.adjacency import NO_EDGES, triples
from headwater.lineage.contents import How
from headwater.lineage.graph import Graph
from headwater.lineage.view import View


class Feed(NamedTuple):
    """One step into a column: from which node, by which transformation; over what is gone by all of them together."""

    node: int
    how: How


def feeds(graph: Graph, node: int, view: View, *, forward: bool = False) -> Iterator[Feed]:
    """Yield what leads into a column (or out of it), through the meeting points of dataset-wide edges, each once."""
    seen: set[Feed] = set()
    todo = list(_next(graph, node, view, forward=forward))
    while todo:
        feed = todo.pop(0)
        if feed in seen:
            continue
        seen.add(feed)
        if graph.dataset_of[feed.node] in view.hidden:
            todo += (
                Feed(each.node, _over(feed.how, each.how)) for each in _next(graph, feed.node, view, forward=forward)
            )
        else:
            yield feed


def _next(graph: Graph, node: int, view: View, *, forward: bool) -> Iterator[Feed]:
    edges = graph.out if forward else graph.into
    for far, how, number in triples(edges.get(node, NO_EDGES)):
        if not view.live[number]:
            continue
        beyond = triples(edges.get(far, NO_EDGES)) if graph.dataset_of[far] < 0 else ((far, how, number),)
        for source, onward, _ in beyond:
            yield Feed(source, graph.hows[onward or how])


def _over(one: How, other: How) -> How:
    """Return what two transformations are, one after the other."""
    return How(one.direct and other.direct, one.masked or other.masked, one.subtype or other.subtype, None)
