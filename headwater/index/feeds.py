"""What leads into a column directly, or out of it."""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.lineage.adjacency import NO_EDGES, triples
from headwater.lineage.graph import Graph
from headwater.lineage.view import View


class Feed(NamedTuple):
    """One step into a column: from which node, by which transformation."""

    node: int
    how: int


def feeds(graph: Graph, node: int, view: View, *, forward: bool = False) -> Iterator[Feed]:
    """Yield what leads into a column (or out of it), through the meeting points of dataset-wide edges, each once."""
    edges = graph.out if forward else graph.into
    if graph.dataset_of[node] in view.hidden:
        return
    seen: set[Feed] = set()
    for far, how, number in triples(edges.get(node, NO_EDGES)):
        if not view.live[number]:
            continue
        beyond = triples(edges.get(far, NO_EDGES)) if graph.dataset_of[far] < 0 else ((far, how, number),)
        for source, onward, _ in beyond:
            feed = Feed(source, onward or how)
            if feed not in seen and graph.dataset_of[source] not in view.hidden:
                seen.add(feed)
                yield feed
