"""Impact, upstream and paths: which columns reach which."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set

from headwater.lineage.edges.accounting import ALL_COLUMNS, is_related
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.time.snapshot import Snapshot
from headwater.lineage.walks.walk import Mode, allowed_transformations, walk
from headwater.lineage.walks.wave import Hit, Wave
from headwater.questions.answers.answer_parts import Dataset, Job, PathStep, Stop
from headwater.questions.answers.lineage_answers import PathAnswer, Reach
from headwater.questions.showing import shown_column
from headwater.questions.shown import Shown
from headwater.questions.subjects import Bounds, Subject, find_column, find_dataset, nodes_of

_ENDS = 10_000
"""Columns that are walked over, where only the far ends are shown."""


def reach(
    snapshot: Snapshot,
    rules: NameRules,
    asked: Subject,
    counted: CountedEdges,
    *,
    forward: bool,
    mode: Mode,
    bounds: Bounds,
    roots: bool = False,
    paths: bool = False,
) -> Reach:
    """Answer impact (forward) or upstream of a column, or without a column of a whole dataset.

    roots: keep only the far ends, from where it goes no further; paths: show each way whole, from the asked column on.
    """
    dataset = find_dataset(snapshot, rules, asked)
    key = None if asked.column is None else find_column(snapshot, dataset, asked.column)
    starts = nodes_of(snapshot, counted, dataset, key)
    limit = _ENDS if roots else bounds.limit
    found = walk(snapshot.graph, starts, counted, forward=forward, mode=mode, depth=bounds.depth, limit=limit)
    ends = [hit for hit in found.hits if not roots or _is_end(snapshot, hit.node, counted, mode, forward=forward)]
    hits = ends[: bounds.limit]
    shown = Shown(snapshot)
    columns = shown.hits(hits)
    for column, hit in zip(columns, hits if paths else (), strict=False):
        column.path = _path(shown, found.wave, found.ways, hit)
    stops = _stops(snapshot, dataset, [*found.ways, *(starts if key is not None else ())], counted, forward=forward)
    return Reach(shown_column(snapshot, dataset, key), mode, columns, stops, found.truncated or len(ends) > len(hits))


def _is_end(snapshot: Snapshot, node: int, counted: CountedEdges, mode: Mode, *, forward: bool) -> bool:
    allowed = allowed_transformations(snapshot.graph, mode, masked=True)
    wave = Wave(snapshot.graph, [node], counted, forward=forward, allowed=allowed, readers=forward)
    while wave.front:
        if any(snapshot.graph.dataset_of[hit.node] not in counted.hidden for hit in wave.advance()):
            return False
    return True


def _path(shown: Shown, wave: Wave, hits: dict[int, Hit], hit: Hit) -> list[PathStep]:
    """Return the way to a hit, nearest to the asked column first; each step as it was reached."""
    steps = [hit]
    while steps[-1].parent in hits:
        steps.append(hits[steps[-1].parent])
    return [PathStep(*shown.place(step.node), shown.via(step)) for step in wave.chosen(reversed(steps))]


def _stops(
    snapshot: Snapshot, asked: Name, reached: Iterable[int], counted: CountedEdges, *, forward: bool
) -> list[Stop]:
    """Return the datasets, of the one asked for and those with a reached column, where only tables go on.

    The one asked for may be a file or a table of which nobody has ever named a column; it is asked for as a whole
    unless one of its columns is among `reached`.
    """
    names = snapshot.graph.names
    start = counted.lifetimes.newest(asked)
    datasets: dict[int, set[str]] = {} if start is None else {start: set()}
    for node in reached:
        column = snapshot.graph.columns[node]
        datasets.setdefault(column.dataset, set()).add(column.key or "")
    onward: dict[Name, set[Name]] = defaultdict(set)
    jobs: dict[Name, set[Name]] = defaultdict(set)
    unread: dict[Name, set[str]] = defaultdict(set)
    for dataset, keys in datasets.items():
        for number, far in _table_level(snapshot, dataset, keys, counted, forward=forward):
            onward[names[dataset].plain].update(() if far is None else (far.plain,))
            job_output, lineage = snapshot.graph.sets[number]
            jobs[names[dataset].plain].add(job_output.job)
            unread[names[dataset].plain].update((lineage.unread,) if lineage.unread else ())
    return [
        Stop(
            *name.parts,
            [Dataset(*far.parts) for far in sorted(onward[name])],
            [Job(*snapshot.job(job).parts) for job in sorted(jobs[name])],
            sorted(unread[name]),
        )
        for name in sorted(onward)
    ]


def _table_level(
    snapshot: Snapshot, dataset: int, keys: Set[str], counted: CountedEdges, *, forward: bool
) -> Iterator[tuple[int, Name | None]]:
    """Yield (edge set, dataset) where lineage goes on between tables alone; None: the writer reports no input.

    keys: of the columns that are asked for, none where that is the whole dataset.
    """
    graph = snapshot.graph
    if not forward:
        for number in graph.veiled.intersection(graph.fed_by.get(dataset, ())):
            lineage = graph.sets[number][1]
            if counted.says(number) and not (lineage.carries or lineage.tables or lineage.also_read or lineage.opaque):
                yield number, None
            for name in lineage.tables:
                source = graph.dataset(name)
                if counted.says(number) and source is not None and graph.is_opaquely_written(number, source):
                    yield number, name
            if counted.says(number) and _leaves_out(lineage, keys):
                for name in (*lineage.tables, *lineage.also_read):
                    source = graph.dataset(name)
                    if source is not None and graph.may_fill(number, source):
                        yield number, name
        return
    for each in (dataset, *counted.lifetimes.others(dataset)):
        for number in graph.veiled.intersection(graph.feeds.get(each, ())):
            lineage = graph.sets[number][1]
            hides = (
                graph.is_opaquely_written(number, each)
                or graph.may_fill(number, each)
                or (lineage.carries and graph.is_opaque(number, each))
            )
            counts = counted.says(number) if each == dataset else counted.reading[number]
            if counts and hides and lineage.output is not None and _goes_on(snapshot, lineage.output, counted):
                yield number, lineage.output


def _leaves_out(lineage: OutputLineage, keys: Set[str]) -> bool:
    """Tell whether an edge set does not account for one of these columns of its output, none: for any column."""
    missing = frozenset(lineage.unaccounted)
    return bool(missing) and (not keys or ALL_COLUMNS in missing or any(is_related(key, missing) for key in keys))


def _goes_on(snapshot: Snapshot, dataset: Name, counted: CountedEdges) -> bool:
    """Tell whether a dataset is there, or something was made of it before it went."""
    number = snapshot.graph.dataset(dataset)
    return number is not None and (number not in counted.hidden or bool(snapshot.graph.feeds.get(number)))


def path(
    snapshot: Snapshot, rules: NameRules, start: Subject, end: Subject, counted: CountedEdges, *, mode: Mode
) -> PathAnswer:
    """Answer whether one column or dataset reaches another, and by which shortest way.

    Where it does not, `stops` are the datasets from which lineage that names no columns may yet lead there.
    """
    source, target = find_dataset(snapshot, rules, start), find_dataset(snapshot, rules, end)
    from_key = None if start.column is None else find_column(snapshot, source, start.column)
    to_key = None if end.column is None else find_column(snapshot, target, end.column)
    goal = set(nodes_of(snapshot, counted, target, to_key))
    starts = nodes_of(snapshot, counted, source, from_key)
    allowed = allowed_transformations(snapshot.graph, mode, masked=True)
    wave = Wave(snapshot.graph, starts, counted, forward=True, allowed=allowed, readers=True)
    hits: dict[int, Hit] = {}
    reached: Hit | None = None
    while wave.front and reached is None:
        layer = wave.advance()
        hits.update((hit.node, hit) for hit in layer)
        reached = next((hit for hit in layer if hit.node in goal), None)
    return PathAnswer(
        shown_column(snapshot, source, from_key),
        shown_column(snapshot, target, to_key),
        mode,
        reached is not None,
        [] if reached is None else _path(Shown(snapshot), wave, hits, reached),
        _stops(snapshot, source, hits, counted, forward=True) if reached is None else [],
    )
