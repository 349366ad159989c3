"""Rule 8.5: find the state of the tagged columns themselves.

A tagged column is exposed unless every write into the column masks.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from headwater.lineage.edges.candidates import NO_SOURCES
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.runs.run_derivation import lineage_weight
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.traversal.clear_rows import WriteTimes
from headwater.lineage.traversal.column_graph import Graph
from headwater.lineage.traversal.frontier import Hit
from headwater.lineage.traversal.masking_surface import SurfaceColumn


class _DirectEdge(NamedTuple):
    """A DIRECT edge that counts and leads into a column, a struct around it, or a column nested in it."""

    source: int
    target: int
    transformation: int
    edge_set: int


def tagged_columns(
    graph: Graph,
    nodes: Collection[int],
    whole: Collection[int],
    counted: CountedEdges,
    *,
    base_us: Callable[[Name], int | None],
    seen: Callable[[int], tuple[int, int]],
) -> list[SurfaceColumn]:
    """Return the state of each tagged column in the newest generation of its dataset.

    nodes: the nodes of tagged columns, including older generations.
    whole: datasets with the tag and without known columns.
    base_us: returns the time (us) of the base list of a dataset, None without a base list.
    seen: returns the times (us) at which runs first and last reported an edge set.
    """
    shown = [
        node for node in counted.nesting.add_nested_columns(set(nodes)) if _is_listed(graph, counted, node, base_us)
    ]
    found = [_tagged_state(graph, counted, node, seen) for node in shown]
    found += (
        SurfaceColumn(each, None, "exposed", None, None, tagged=True)
        for each in whole
        if _is_newest_generation(graph, counted, each)
    )
    return found


def last_clear_writes_us(
    graph: Graph, columns: Collection[SurfaceColumn], counted: CountedEdges, writes: WriteTimes
) -> Mapping[tuple[int, str | None], int]:
    """Return the times when readable values may last have been written into masked tagged columns.

    The result maps (dataset, column key) to a time in microseconds. It contains only columns in which these rows may
    still exist.
    columns: the result of `tagged_columns`.
    """
    found: dict[tuple[int, str | None], int] = {}
    with_rows = counted.with_earlier_writes()
    for each in columns:
        if each.tagged and each.exposure == "masked" and each.key is not None:
            node = graph.get_or_add_node(each.dataset, each.key)
            silent = _silent_edge_sets(graph, with_rows, node, _edges_into(graph, with_rows, node), writes.report_times)
            times = [writes.report_times(number)[1] for number in silent]
            times += _open_write_times_us(graph, each.dataset, each.key, counted, writes)
            if times:
                found[each.dataset, each.key] = max(times)
    return found


def _open_write_times_us(
    graph: Graph, dataset: int, key: str, counted: CountedEdges, writes: WriteTimes
) -> Iterator[int]:
    """Yield the times (us) of writes that may have put readable values into a column, if their rows may still exist."""
    times = (
        _last_clear_write_us(graph, dataset, key, writes),
        _last_ignored_write_us(graph, dataset, counted, writes),
        _first_read_before_writes_us(graph, dataset, writes),
    )
    for time_us in times:
        if time_us is not None and writes.rows_until_us(graph.names[dataset], time_us) == MAX_TIME_US:
            yield time_us


def _is_newest_generation(graph: Graph, counted: CountedEdges, dataset: int) -> bool:
    return (
        dataset not in counted.dropped_datasets
        and counted.lifetimes.newest_generation(graph.names[dataset].without_generation) == dataset
    )


def _is_listed(graph: Graph, counted: CountedEdges, node: int, base_us: Callable[[Name], int | None]) -> bool:
    """Tell whether the answer includes a tagged column: a list of columns or a counted edge contains the column.

    Without a base list, the answer includes every tagged column. Columns of older and dropped generations are excluded.
    """
    dataset, key = graph.columns[node]
    if not _is_newest_generation(graph, counted, dataset):
        return False
    by_key = counted.nesting.columns_of(dataset).by_key
    if not by_key or key in by_key:
        return True
    ends = (graph.outgoing.edges(node), graph.incoming.edges(node))
    if any(counted.live_mask[number] for edges in ends for _, _, number in edges):
        return True
    return base_us(graph.names[dataset]) is None


def _tagged_state(
    graph: Graph, counted: CountedEdges, node: int, seen: Callable[[int], tuple[int, int]]
) -> SurfaceColumn:
    dataset, key = graph.columns[node]
    into = _edges_into(graph, counted, node)
    clear = [step for step in into.changes if not graph.transformations[step.transformation].is_masked]
    if clear:
        return SurfaceColumn(dataset, key, "exposed", _first_hit(graph, node, clear, masked=False), None, tagged=True)
    silent = _silent_edge_sets(graph, counted, node, into, seen)
    if silent:
        number = min(
            silent, key=lambda each: (graph.edge_sets[each][0].job, graph.edge_sets[each][1].attempt_state or "")
        )
        return SurfaceColumn(dataset, key, "exposed", None, number, tagged=True)
    masks = [step for step in into.steps if step.source != step.target]
    if masks:
        return SurfaceColumn(dataset, key, "masked", _first_hit(graph, node, masks, masked=True), None, tagged=True)
    return SurfaceColumn(dataset, key, "exposed", None, None, tagged=True)


class _EdgesInto(NamedTuple):
    """Direct edges that fill a column.

    steps: edges into the column and into the columns around it. changes: those of `steps`, and of the edges into nested
    columns, that come from another column.
    """

    steps: list[_DirectEdge]
    changes: list[_DirectEdge]


def _edges_into(graph: Graph, counted: CountedEdges, node: int) -> _EdgesInto:
    around = [node, *(parent for parent, _ in counted.nesting.nodes_around(node))]
    steps = [step for target in around for step in _direct_edges(graph, counted, target)]
    nested = counted.nesting.nested_nodes(node).values()
    parts = [step for part in nested for step in _direct_edges(graph, counted, part)]
    return _EdgesInto(steps, [step for step in (*steps, *parts) if step.source != step.target])


def _silent_edge_sets(
    graph: Graph, counted: CountedEdges, node: int, into: _EdgesInto, seen: Callable[[int], tuple[int, int]]
) -> list[int]:
    """Return the edge sets of writers that do not report how they fill a column.

    Such a writer has no edge into the column. Or it only copies the column to itself, and no run wrote the column from
    another column before, so no event reports the source of its rows.
    """
    named = {step.edge_set for step in into.steps}
    made = {step.edge_set for step in into.changes}
    first_us = min((seen(number)[0] for number in _filling_edge_sets(graph, counted, node)), default=MAX_TIME_US)
    return [
        number
        for number in _writing_edge_sets(graph, counted, graph.dataset_of[node])
        if number not in named or (number not in made and _last_us(graph, number, seen) <= first_us)
    ]


def _direct_edges(graph: Graph, counted: CountedEdges, target: int) -> Iterator[_DirectEdge]:
    for source, transformation, number in graph.incoming.edges(target):
        if counted.live_mask[number] and graph.transformations[transformation].is_direct:
            yield _DirectEdge(source, target, transformation, number)


def _filling_edge_sets(graph: Graph, counted: CountedEdges, node: int) -> Iterator[int]:
    """Yield the edge sets of observed runs, at any time, with a DIRECT edge from another column into a column.

    Edges into structs around the column and into columns nested in it count, too.
    """
    around = [
        node,
        *(parent for parent, _ in counted.nesting.nodes_around(node)),
        *counted.nesting.nested_nodes(node).values(),
    ]
    for target in around:
        for source, transformation, number in graph.incoming.edges(target):
            is_made = (
                source != target and graph.dataset_of[source] >= 0 and graph.transformations[transformation].is_direct
            )
            if is_made and graph.edge_sets[number][0].layer == "observed":
                yield number


def _last_us(graph: Graph, number: int, seen: Callable[[int], tuple[int, int]]) -> int:
    """Return the time (us) when runs last reported an edge set, MAX_TIME_US for a declared edge set."""
    return seen(number)[1] if graph.edge_sets[number][0].layer == "observed" else MAX_TIME_US


def _writing_edge_sets(graph: Graph, counted: CountedEdges, dataset: int) -> Iterator[int]:
    """Yield the edge sets that write a dataset in current and newest executions and in runs that did not complete.

    The edge sets of DatasetEvents are excluded.
    """
    for number in graph.writers_by_dataset.get(dataset, ()):
        if counted.is_counted(number) and graph.edge_sets[number][0].has_job:
            yield number
    yield from counted.attempted.intersection(graph.attempts_by_output.get(dataset, ()))


def _first_hit(graph: Graph, node: int, steps: Collection[_DirectEdge], *, masked: bool) -> Hit:
    """Return a hit with the first of the steps, sorted by names, so that the order of events makes no difference."""

    def rank(step: _DirectEdge) -> tuple[Name, str, Name, str]:
        dataset, key = graph.columns[step.source]
        job = graph.edge_sets[step.edge_set][0].job
        return graph.names[dataset], key or "", job, repr(graph.transformations[step.transformation])

    first = min(steps, key=rank)
    return Hit(node, 0, masked, first.source, first.transformation, first.edge_set)


def _last_clear_write_us(graph: Graph, dataset: int, key: str, writes: WriteTimes) -> int | None:
    """Return the time (us) when a run last wrote clear values into a column, None if no run did."""
    name = graph.names[dataset]
    times = (
        writes.report_times(number)[1]
        for number in graph.writers_by_dataset.get(dataset, ())
        if graph.edge_sets[number][0].layer == "observed"
        and any(
            edge.target is not None
            and _is_same_or_nested(edge.target, key)
            and edge.transformation.is_direct
            and not edge.transformation.is_masked
            and (edge.source, edge.column) != (name, edge.target)
            for edge in graph.edge_sets[number][1].edges
        )
    )
    return max(times, default=None)


def _last_ignored_write_us(graph: Graph, dataset: int, counted: CountedEdges, writes: WriteTimes) -> int | None:
    """Return the time (us) of the last silent run that is ignored although it wrote a dataset, None without one.

    Rule 6.3 ignores silent runs because other runs of the job report something. Their rows may be in the dataset.
    """
    ignored = (
        number
        for number in graph.writers_by_dataset.get(dataset, ())
        if graph.edge_sets[number][0].layer == "observed"
        and lineage_weight(graph.edge_sets[number][1]) == NO_SOURCES
        and not counted.is_counted(number)
    )
    return max((writes.report_times(number)[1] for number in ignored), default=None)


def _first_read_before_writes_us(graph: Graph, dataset: int, writes: WriteTimes) -> int | None:
    """Return the time (us) when a run first read a dataset, if no run had written the dataset by then.

    The rows that this run read are of unknown origin. Returns None if a run wrote the dataset before, or if no run did.
    """
    observed = (
        number for number in graph.writers_by_dataset.get(dataset, ()) if graph.edge_sets[number][0].layer == "observed"
    )
    written_us = min((writes.report_times(number)[0] for number in observed), default=None)
    reading = (
        number
        for number in (*graph.readers_by_dataset.get(dataset, ()), *graph.attempts_by_source.get(dataset, ()))
        if graph.edge_sets[number][0].layer != "declared"
    )
    read_us = min((writes.report_times(number)[0] for number in reading), default=None)
    return read_us if read_us is not None and written_us is not None and read_us < written_us else None


def _is_same_or_nested(one: str, other: str) -> bool:
    """Tell whether two columns are the same, or one of them is nested in the other."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
