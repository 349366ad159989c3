"""Rule 8.4: find columns that still contain rows with clear values, and the times when these values were written."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.traversal.column_graph import Graph
from headwater.lineage.traversal.frontier import Hit


class WriteTimes(NamedTuple):
    """Functions that return the times of writes, in microseconds.

    report_times: returns the times at which runs first and last reported an edge set.
    rows_until_us: takes a dataset and the time of a write. Returns the time when the written rows were gone, or
    `MAX_TIME_US` if they may still exist.
    """

    report_times: Callable[[int], tuple[int, int]]
    rows_until_us: Callable[[Name, int], int]


class ClearRows(NamedTuple):
    """Clear values that runs wrote into a column.

    wrote_us: the latest time (us) at which one of the runs may have written the values.
    until_us: the time (us) when the values were gone, `MAX_TIME_US` if they may still exist.
    hit: the edge over which the values were written.
    """

    wrote_us: int
    until_us: int
    hit: Hit

    @property
    def still_exist(self) -> bool:
        """Whether the values may still exist: no whole rewrite replaced them, and their retention has not expired."""
        return self.until_us == MAX_TIME_US


def clear_rows(graph: Graph, clear: Collection[int], writes: WriteTimes) -> dict[int, ClearRows]:
    """Map nodes to the clear values that runs wrote into them from columns with clear values.

    The source must have had clear values at the time of the write. If a whole rewrite replaced the rows of a column,
    the column may have been copied before the rewrite, so its edges are followed up to the end of the rewrite.
    clear: nodes with clear values according to the newest executions. They are not part of the result.
    """
    found: dict[int, ClearRows] = {}
    todo = list(clear)
    while todo:
        source = todo.pop()
        until_us = found[source].until_us if source in found else MAX_TIME_US
        for target, edges in _clear_edges(graph, source, clear).items():
            seen = [writes.report_times(number) for _, number in edges]
            if min(first_us for first_us, _ in seen) > until_us:
                continue
            wrote_us = min(max(last_us for _, last_us in seen), until_us)
            last = [edge for edge, (_, last_us) in zip(edges, seen, strict=True) if last_us >= wrote_us]
            hit = min(
                (Hit(target, 0, False, source, *edge) for edge in last), key=lambda each: _tie_breaker(graph, each)
            )
            now, known = ClearRows(wrote_us, _rows_until_us(graph, writes, target, wrote_us), hit), found.get(target)
            if known is None or (now.until_us, wrote_us) > (known.until_us, known.wrote_us):
                todo.append(target)
            elif (wrote_us, _tie_breaker(graph, hit)) <= (known.wrote_us, _tie_breaker(graph, known.hit)):
                continue
            found[target] = now
    return found


def _rows_until_us(graph: Graph, writes: WriteTimes, target: int, wrote_us: int) -> int:
    return writes.rows_until_us(graph.names[graph.dataset_of[target]], wrote_us)


def _tie_breaker(graph: Graph, hit: Hit) -> tuple[object, ...]:
    """Return the sort key for edges with the same time."""
    source, job = graph.columns[hit.parent], graph.edge_sets[hit.edge_set][0].job
    return graph.names[source.dataset], source.key or "", job, repr(graph.transformations[hit.transformation])


def _clear_edges(graph: Graph, source: int, excluded: Collection[int]) -> Mapping[int, Sequence[tuple[int, int]]]:
    """Return the DIRECT edges without a mask that observed runs report from a column.

    The result maps each target to the (transformation, edge set) pairs of its edges.
    excluded: targets that are not part of the result.
    """
    found = defaultdict[int, list[tuple[int, int]]](list)
    for target, transformation, number in graph.outgoing.edges(source):
        how = graph.transformations[transformation]
        if graph.dataset_of[target] < 0 or target in excluded or not how.is_direct or how.is_masked:
            continue
        if graph.edge_sets[number][0].layer == "observed":
            found[target].append((transformation, number))
    return found
