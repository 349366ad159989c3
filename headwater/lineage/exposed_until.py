"""Rule 8: masked code is not masked data; until when a column that is masked now was written in the clear."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from headwater.lineage.edges import Contribution
from headwater.lineage.graph import Graph
from headwater.lineage.name import Name
from headwater.lineage.surface import Surface

EVER_US = 1 << 62


class Writer(NamedTuple):
    """What some runs of a job say, or once said, about a dataset.

    wrote: (up to a time) → when the newest of them wrote what nothing is known to have rewritten since, else None.
    """

    said: Contribution
    wrote: Callable[[int], int | None]


WritersOf = Callable[[Name], Iterable[Writer]]
"""A dataset in its generation → all who ever wrote it."""


def exposed_until(graph: Graph, found: Surface, writers_of: WritersOf) -> Mapping[tuple[int, str | None], int]:
    """Return (dataset, column) → microseconds of the masked columns whose older rows may be readable."""
    until: dict[int, int] = dict.fromkeys(found.clear, EVER_US)
    masked = [node for node in found.ways if node not in until]
    into = {node: list(_clear_ways(graph, node, writers_of)) for node in masked}
    changed = True
    while changed:
        changed = False
        for node, ways in into.items():
            times = (writer.wrote(until[source]) for source, writer in ways if source in until)
            newest = max((time_us for time_us in times if time_us is not None), default=None)
            if newest is not None and newest > until.get(node, -1):
                until[node] = newest
                changed = True
    return {graph.columns[node]: until[node] for node in masked if node in until}


def _clear_ways(graph: Graph, node: int, writers_of: WritersOf) -> Iterable[tuple[int, Writer]]:
    dataset, key = graph.columns[node]
    for writer in writers_of(graph.names[dataset]):
        for edge in writer.said.edges:
            if edge.target == key and edge.how.direct and not edge.how.masked:
                number = graph.dataset(edge.source)
                source = None if number is None else graph.node(number, edge.column)
                if source is not None:
                    yield source, writer
