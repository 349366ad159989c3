"""The questions `impact`, `upstream` and `path`: which columns reach which."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from headwater.lineage.edges.accounted_columns import ALL_COLUMNS, is_related
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.traversal.frontier import FrontierSearch, Hit
from headwater.lineage.traversal.impact import Mode, allowed_transformations, walk_lineage
from headwater.questions.answer_types.common import Dataset, Job, PathStep, PossibleLink, Stop, StopReason
from headwater.questions.answer_types.lineage import PathAnswer, Reach
from headwater.questions.conversions import ColumnConverter, column_for_answer
from headwater.questions.incomplete_lineage import events_removed_before_day, unfinished_runs
from headwater.questions.subjects import Bounds, Subject, find_column, find_dataset, nodes_of

_MAX_VISITED = 10_000
"""Maximum number of columns to visit if only the far ends are returned."""


def reach_answer(
    snapshot: Snapshot,
    rules: NameRules,
    start: Subject,
    counted: CountedEdges,
    *,
    forward: bool,
    mode: Mode,
    bounds: Bounds,
    roots: bool = False,
    paths: bool = False,
) -> Reach:
    """Answer impact (forward) or upstream of a column or a whole dataset.

    roots: return only the columns from which no other column is reached. paths: return the path to each column,
    starting at the requested column.
    """
    counted = counted.with_earlier_uses() if forward else counted.with_earlier_writes()
    dataset = find_dataset(snapshot, rules, start)
    key = None if start.column is None else find_column(snapshot, dataset, start.column)
    starts = nodes_of(snapshot, counted, dataset, key)
    limit = _MAX_VISITED if roots else bounds.limit
    found = walk_lineage(snapshot.graph, starts, counted, forward=forward, mode=mode, depth=bounds.depth, limit=limit)
    if (
        found.truncated and limit < _MAX_VISITED and any(hit.presumed for hit in found.hits)
    ):  # current ones may be farther
        found = walk_lineage(
            snapshot.graph, starts, counted, forward=forward, mode=mode, depth=bounds.depth, limit=_MAX_VISITED
        )
    ends = [
        hit for hit in found.hits if not roots or _is_last_column(snapshot, hit.node, counted, mode, forward=forward)
    ]
    hits = sorted(ends, key=lambda hit: hit.presumed)[: bounds.limit]
    shown = ColumnConverter(snapshot, counted.presumed_retired)
    columns = shown.to_reached_columns(hits)
    for column, hit in zip(columns, hits if paths else (), strict=False):
        column.path = _path_to_hit(shown, found.search, found.hits_by_node, hit)
    asked_nodes = found.search.starts if key is not None else ()
    stops = _find_stops(snapshot, dataset, [*found.hits_by_node, *asked_nodes], counted, forward=forward)
    return Reach(
        column_for_answer(snapshot, dataset, key), mode, columns, stops, found.truncated or len(ends) > len(hits), []
    )


def _is_last_column(snapshot: Snapshot, node: int, counted: CountedEdges, mode: Mode, *, forward: bool) -> bool:
    allowed = allowed_transformations(snapshot.graph, mode, masked=True)
    wave = FrontierSearch(snapshot.graph, [node], counted, forward=forward, allowed=allowed, follow_readers=forward)
    while wave.frontier:
        if any(snapshot.graph.dataset_of[hit.node] not in counted.dropped_datasets for hit in wave.advance()):
            return False
    return True


def _path_to_hit(converter: ColumnConverter, search: FrontierSearch, hits: dict[int, Hit], hit: Hit) -> list[PathStep]:
    """Return the steps of the path to a hit. The first step is the one next to the requested column."""
    steps = [hit]
    while steps[-1].parent in hits:
        steps.append(hits[steps[-1].parent])
    return [
        PathStep(*converter.names_of_node(step.node), converter.to_via(step))
        for step in search.with_chosen_edges(reversed(steps))
    ]


class _PossibleLink(NamedTuple):
    """A dataset that may be connected with another dataset, because the jobs of both belong to one application."""

    dataset: Name
    job: Name
    application: str


class _LineageGap(NamedTuple):
    """A reason why column lineage stops at a dataset.

    number: the edge set at which it stops. onward: the table at the other end of the edge set, or None. link: a
    possible link to another dataset, or None.
    """

    number: int
    reason: StopReason
    onward: Name | None = None
    link: _PossibleLink | None = None


def _find_stops(
    snapshot: Snapshot, asked: Name, reached: Iterable[int], counted: CountedEdges, *, forward: bool
) -> list[Stop]:
    """Return the stops at the requested dataset and at all datasets with a reached column.

    reached: nodes of reached columns. If no column of the requested dataset is in `reached`, the stops apply to the
    whole dataset, even if its columns are unknown.
    """
    names = snapshot.graph.names
    starts = counted.lifetimes.start_generations(asked)
    moved = [each for start in starts for each in counted.lifetimes.moved_datasets(start, forward=forward)]
    datasets: dict[int, set[str]] = {each: set() for each in (*starts, *moved)}
    for node in reached:
        column = snapshot.graph.columns[node]
        datasets.setdefault(column.dataset, set()).add(column.key or "")
    gaps: dict[tuple[Name, StopReason], list[_LineageGap]] = defaultdict(list)
    for dataset, keys in datasets.items():
        for gap in _gaps_at_dataset(snapshot, dataset, keys, counted, forward=forward):
            gaps[names[dataset].without_generation, gap.reason].append(gap)
    return [
        *_stop_at_removed_events(snapshot, asked),
        *(_to_stop(snapshot, *stop, gaps[stop]) for stop in sorted(gaps)),
    ]


def _stop_at_removed_events(snapshot: Snapshot, asked: Name) -> list[Stop]:
    """Return a stop at the requested dataset if retention removed events, which may have reported more lineage."""
    day = events_removed_before_day(snapshot)
    return [Stop(*asked.without_generation.parts, "events_removed", [], [], [], [], [], day)] if day else []


def _to_stop(snapshot: Snapshot, dataset: Name, reason: StopReason, gaps: Sequence[_LineageGap]) -> Stop:
    edge_sets = [snapshot.graph.edge_sets[gap.number] for gap in gaps]
    links = sorted({gap.link for gap in gaps if gap.link})
    return Stop(
        *dataset.parts,
        reason,
        [Dataset(*far.parts) for far in sorted({gap.onward.without_generation for gap in gaps if gap.onward})],
        [Job(*snapshot.job_name(job).parts) for job in sorted({job_output.job for job_output, _ in edge_sets})],
        sorted({lineage.unread_sql_reason for _, lineage in edge_sets if lineage.unread_sql_reason}),
        [PossibleLink(*link.dataset.parts, Job(*link.job.parts), link.application) for link in links],
        unfinished_runs(
            snapshot, sorted({gap.number for gap in gaps if snapshot.graph.edge_sets[gap.number][1].attempt_state})
        ),
    )


def _gaps_at_dataset(
    snapshot: Snapshot, dataset: int, keys: Set[str], counted: CountedEdges, *, forward: bool
) -> Iterator[_LineageGap]:
    """Yield the gaps downstream (forward) or upstream of a dataset.

    keys: keys of the requested columns; empty means all columns.
    """
    graph = snapshot.graph
    yield from _gaps_of_attempts(snapshot, dataset, counted, forward=forward)
    if forward:
        yield from _table_level_readers(snapshot, dataset, counted)
        datasets = (dataset, *counted.lifetimes.other_generations(dataset)) if graph.read_only else ()
        silent = {number for each in datasets for number in graph.read_only.intersection(graph.edge_sets_reading(each))}
    else:
        yield from _table_level_writers(snapshot, dataset, keys, counted)
        silent = graph.unsourced.intersection(graph.writers_by_dataset.get(dataset, ()))
    reason: StopReason = "no_output" if forward else "no_input"
    for number in filter(counted.is_counted, silent):
        if not forward:
            yield _LineageGap(number, reason)
        for link in _links_within_application(snapshot, number, counted, forward=forward):
            yield _LineageGap(number, reason, link=link)


def _gaps_of_attempts(
    snapshot: Snapshot, dataset: int, counted: CountedEdges, *, forward: bool
) -> Iterator[_LineageGap]:
    """Yield the gaps that are caused by runs that did not complete.

    The outputs of such a run may contain data of its inputs.
    """
    graph = snapshot.graph
    if forward:
        for each in (dataset, *counted.lifetimes.other_generations(dataset)):
            for number in counted.attempted.intersection(graph.attempts_reading(each)):
                output = graph.edge_sets[number][1].output
                if graph.feeds_a_job(number, each):
                    yield _LineageGap(number, "not_completed")
                if output is not None and graph.attempt_may_have_written(number, each):
                    yield from (
                        [_LineageGap(number, "not_completed", output)]
                        if _may_continue(snapshot, output, counted)
                        else ()
                    )
        return
    for number in counted.attempted.intersection(graph.attempts_by_output.get(dataset, ())):
        reads = (*graph.edge_sets[number][1].read_datasets, *graph.datasets_through_jobs.get(number, ()))
        for name in reads:
            source = graph.dataset_number(name)
            if source is not None and graph.attempt_may_have_written(number, source):
                yield _LineageGap(number, "not_completed", name)
        if not reads or number in graph.unfollowed_edge_sets:
            yield _LineageGap(number, "not_completed")


def _table_level_writers(
    snapshot: Snapshot, dataset: int, keys: Set[str], counted: CountedEdges
) -> Iterator[_LineageGap]:
    graph = snapshot.graph
    for number in filter(
        counted.is_counted, graph.possibly_open.intersection(graph.writers_by_dataset.get(dataset, ()))
    ):
        lineage = graph.edge_sets[number][1]
        leaves_out = _leaves_columns_unaccounted(lineage, keys)
        if (
            number in graph.unfollowed_edge_sets
            and graph.may_write_anything(number)
            and (leaves_out or not lineage.has_column_lineage)
        ):
            yield _LineageGap(number, "no_input")
        for name in (*lineage.source_datasets, *lineage.other_inputs, *graph.datasets_through_jobs.get(number, ())):
            source = graph.dataset_number(name)
            if source is not None and (
                graph.is_opaquely_written(number, source)
                or (leaves_out and graph.may_fill_unaccounted(number, source))
                or _may_come_from(snapshot, number, source, keys)
            ):
                yield _LineageGap(number, "no_columns", name)


def _table_level_readers(snapshot: Snapshot, dataset: int, counted: CountedEdges) -> Iterator[_LineageGap]:
    graph = snapshot.graph
    for each in (dataset, *counted.lifetimes.other_generations(dataset)) if graph.possibly_open else ():
        for number in graph.possibly_open.intersection(graph.edge_sets_reading(each)):
            lineage = graph.edge_sets[number][1]
            hides = (
                graph.is_opaquely_written(number, each)
                or graph.may_fill_unaccounted(number, each)
                or (lineage.has_column_lineage and graph.is_opaque(number, each))
            )
            counts = counted.is_counted(number) if each == dataset else counted.reading_mask[number]
            if counts and graph.feeds_a_job(number, each):
                yield _LineageGap(number, "no_output")
            if counts and hides and lineage.output is not None and _may_continue(snapshot, lineage.output, counted):
                yield _LineageGap(number, "no_columns", lineage.output)


def _links_within_application(
    snapshot: Snapshot, edge_set: int, counted: CountedEdges, *, forward: bool
) -> Iterator[_PossibleLink]:
    """Yield possible links between jobs of one application.

    A job that reads without a reported output may feed a job that writes without a reported input. edge_set: the edge
    set of the reading job (forward) or of the writing job.
    """
    graph = snapshot.graph
    for application in snapshot.applications_of_edge_set(edge_set):
        for other in snapshot.edge_sets_of_application(application, graph.unsourced if forward else graph.read_only):
            job_output, lineage = graph.edge_sets[other]
            ends = (lineage.output,) if lineage.output else lineage.source_datasets
            for end in ends if counted.is_counted(other) else ():
                if not forward or _may_continue(snapshot, end, counted):
                    yield _PossibleLink(end.without_generation, snapshot.job_name(job_output.job), application)


def _leaves_columns_unaccounted(lineage: OutputLineage, keys: Set[str]) -> bool:
    """Return whether the lineage leaves at least one of these columns of its output unexplained.

    keys: keys of the columns; empty means any column.
    """
    missing = frozenset(lineage.unaccounted_columns)
    return bool(missing) and (not keys or ALL_COLUMNS in missing or any(is_related(key, missing) for key in keys))


def _may_come_from(snapshot: Snapshot, number: int, source: int, keys: Set[str]) -> bool:
    """Return whether the doubtful source name of one of these columns may mean a dataset.

    source: number of the dataset. keys: keys of the columns; empty means any column.
    """
    graph = snapshot.graph
    if graph.is_accounted(number, graph.names[source]):
        return False
    lineage, name = graph.edge_sets[number][1], graph.names[source]
    doubtful = {doubt.source for doubt in graph.ambiguous_names(number) if name in doubt.possible_inputs}
    targets = {edge.target for edge in lineage.edges if edge.source in doubtful}
    named = {key for key in targets if key is not None}
    return bool(targets) and (not keys or None in targets or any(is_related(key, named) for key in keys))


def _may_continue(snapshot: Snapshot, dataset: Name, counted: CountedEdges) -> bool:
    """Return whether a dataset exists, or other datasets were written from it before it was dropped."""
    graph, number = snapshot.graph, snapshot.graph.dataset_number(dataset)
    if number is None or number not in counted.dropped_datasets:
        return number is not None
    return any(
        counted.is_counted(reader) and graph.edge_sets[reader][1].output is not None
        for reader in graph.readers_by_dataset.get(number, ())
    )


def path_answer(
    snapshot: Snapshot, rules: NameRules, start: Subject, end: Subject, counted: CountedEdges, *, mode: Mode
) -> PathAnswer:
    """Answer whether one column or dataset reaches another, and the shortest path.

    If there is no path, `stops` contains the datasets at which lineage stops downstream of the start and upstream of
    the end.
    """
    counted = counted.with_earlier_uses()
    source, target = find_dataset(snapshot, rules, start), find_dataset(snapshot, rules, end)
    from_key = None if start.column is None else find_column(snapshot, source, start.column)
    to_key = None if end.column is None else find_column(snapshot, target, end.column)
    goal = set(nodes_of(snapshot, counted, target, to_key))
    starts = nodes_of(snapshot, counted, source, from_key)
    allowed = allowed_transformations(snapshot.graph, mode, masked=True)
    wave = FrontierSearch(snapshot.graph, starts, counted, forward=True, allowed=allowed, follow_readers=True)
    hits: dict[int, Hit] = {}
    reached: Hit | None = None
    while wave.frontier and reached is None:
        layer = wave.advance()
        hits.update((hit.node, hit) for hit in layer)
        reached = next((hit for hit in layer if hit.node in goal), None)
    stops: list[Stop] = []
    if reached is None:
        stops = _find_stops(snapshot, source, hits, counted, forward=True)
        stops += _stops_upstream_of_target(snapshot, target, goal, counted, mode)
    return PathAnswer(
        column_for_answer(snapshot, source, from_key),
        column_for_answer(snapshot, target, to_key),
        mode,
        reached is not None,
        []
        if reached is None
        else _path_to_hit(ColumnConverter(snapshot, counted.presumed_retired), wave, hits, reached),
        stops,
    )


def _stops_upstream_of_target(
    snapshot: Snapshot, target: Name, goal: Collection[int], counted: CountedEdges, mode: Mode
) -> list[Stop]:
    """Return the stops upstream of a target at datasets with writers that report no input.

    Any dataset may feed such a writer, so there may be a path that is not reported.
    """
    allowed = allowed_transformations(snapshot.graph, mode, masked=True)
    wave = FrontierSearch(snapshot.graph, goal, counted, forward=False, allowed=allowed, follow_readers=False)
    nodes: set[int] = set()
    while wave.frontier:
        nodes.update(hit.node for hit in wave.advance())
    stops = _find_stops(snapshot, target, nodes, counted, forward=False)
    return [stop for stop in stops if stop.reason == "no_input" or (stop.runs and not stop.onward)]
