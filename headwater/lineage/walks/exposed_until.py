"""Rule 8: masked code is not masked data; until when a column that is masked now was written in the clear."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.walks.column_graph import Graph
from headwater.lineage.walks.masking_surface import MaskingSurface

Wrote = tuple[int, str]
"""When a run wrote (us), and its key."""


class Writer(NamedTuple):
    """What some runs of a job say, or once said, about a dataset; wrote: (up to a time) → the newest of them."""

    lineage: OutputLineage
    wrote: Callable[[int], Wrote | None]


class Written(NamedTuple):
    """All who ever wrote a generation of a dataset; rewritten: (by a run) → when another one next rewrote it whole."""

    writers: Iterable[Writer]
    rewritten: Callable[[Wrote], int | None]


WrittenOf = Callable[[Name], Written]


class _Held(NamedTuple):
    """Clear values in a column: by whom they were written last, and up to when they were there."""

    wrote: Wrote
    until_us: int


def exposed_until(graph: Graph, found: MaskingSurface, written_of: WrittenOf) -> Mapping[tuple[int, str | None], int]:
    """Return (dataset, column) → microseconds of the masked columns that still hold rows written in the clear."""
    held = {node: _Held((EVER_US, ""), EVER_US) for node in found.clear}
    masked = [node for node in found.ways if node not in held]
    written = {name: written_of(name) for name in {graph.names[graph.dataset_of[node]] for node in masked}}
    ways = {name: _clear_ways(graph, name, each.writers) for name, each in written.items()}
    todo = masked
    while todo:
        changed = False
        for node in todo:
            name = graph.names[graph.dataset_of[node]]
            now = _held(held, ways[name].get(node, ()), written[name])
            if now is not None and (node not in held or now.wrote > held[node].wrote):
                held[node] = now
                changed = True
        todo = masked if changed else []
    still = ((node, held[node]) for node in masked if node in held)
    return {graph.columns[node]: each.wrote[0] for node, each in still if each.until_us == EVER_US}


def _held(held: Mapping[int, _Held], ways: Iterable[tuple[int, Writer]], written: Written) -> _Held | None:
    """Return what a column holds by its newest clear write: from a column that held clear values at that time."""
    times = (writer.wrote(held[source].until_us) for source, writer in ways if source in held)
    newest = max((wrote for wrote in times if wrote is not None), default=None)
    if newest is None:
        return None
    rewritten_us = written.rewritten(newest)
    return _Held(newest, EVER_US if rewritten_us is None else rewritten_us)


def _clear_ways(graph: Graph, name: Name, writers: Iterable[Writer]) -> Mapping[int, list[tuple[int, Writer]]]:
    """Return by column the columns that it was ever written from in the clear, and by whom."""
    dataset, found = graph.dataset(name), defaultdict[int, list[tuple[int, Writer]]](list)
    for writer in writers:
        for edge in writer.lineage.edges:
            if dataset is None or edge.target is None or not edge.transformation.direct or edge.transformation.masked:
                continue
            number = graph.dataset(edge.source)
            source = None if number is None else graph.node(number, edge.column)
            target = graph.node(dataset, edge.target)
            if source is not None and target is not None:
                found[target].append((source, writer))
    return found
