"""Direct steps into a column. A path through dropped datasets counts as one step."""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.walks.column_graph import Graph


class Feed(NamedTuple):
    """A step into a column from a node. Through dropped datasets, the transformation combines all steps."""

    node: int
    transformation: Transformation


def feeds(graph: Graph, node: int, counted: CountedEdges) -> Iterator[Feed]:
    """Yield the steps into a column, each once, through the meeting points of dataset-wide edges."""
    seen: set[Feed] = set()
    todo = list(_next(graph, node, counted))
    while todo:
        feed = todo.pop(0)
        if feed in seen:
            continue
        seen.add(feed)
        if graph.dataset_of[feed.node] in counted.hidden:
            todo += (
                Feed(each.node, _over(feed.transformation, each.transformation))
                for each in _next(graph, feed.node, counted)
            )
        else:
            yield feed


def _next(graph: Graph, node: int, counted: CountedEdges) -> Iterator[Feed]:
    for far, transformation, number in graph.into.edges(node):
        if not counted.live[number]:
            continue
        beyond = graph.into.edges(far) if graph.dataset_of[far] < 0 else ((far, transformation, number),)
        for source, onward, _ in beyond:
            yield Feed(source, graph.transformations[onward or transformation])


def _over(one: Transformation, other: Transformation) -> Transformation:
    """Combine two transformations in sequence."""
    return Transformation(one.direct and other.direct, one.masked or other.masked, one.subtype or other.subtype, None)
