"""Impact, upstream and paths: which columns reach which."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.view import View
from headwater.lineage.walk import Mode, allowed_hows, walk
from headwater.lineage.wave import Hit, Wave
from headwater.questions.answers.lineage import PathAnswer, Reach
from headwater.questions.answers.parts import Dataset, Job, PathStep, Stop
from headwater.questions.asking import Bounds, Subject, find_column, find_dataset, nodes_of
from headwater.questions.showing import shown_column
from headwater.questions.shown import Shown

_ENDS = 10_000
"""Columns that are walked over, where only the far ends are shown."""


def reach(
    moment: Snapshot,
    rules: NameRules,
    asked: Subject,
    view: View,
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
    dataset = find_dataset(moment, rules, asked)
    key = None if asked.column is None else find_column(moment, dataset, asked.column)
    starts = nodes_of(moment, view, dataset, key)
    limit = _ENDS if roots else bounds.limit
    found = walk(moment.graph, starts, view, forward=forward, mode=mode, depth=bounds.depth, limit=limit)
    ends = [hit for hit in found.hits if not roots or _is_end(moment, hit.node, view, mode, forward=forward)]
    hits = ends[: bounds.limit]
    shown = Shown(moment)
    columns = shown.hits(hits)
    for column, hit in zip(columns, hits if paths else (), strict=False):
        column.path = _path(shown, found.ways, hit)
    stops = _stops(moment, starts, found.ways, view, forward=forward)
    return Reach(shown_column(moment, dataset, key), mode, columns, stops, found.truncated or len(ends) > len(hits))


def _is_end(moment: Snapshot, node: int, view: View, mode: Mode, *, forward: bool) -> bool:
    allowed = allowed_hows(moment.graph, mode, masked=True)
    wave = Wave(moment.graph, [node], view, forward=forward, allowed=allowed, readers=forward)
    while wave.front:
        if any(moment.graph.dataset_of[hit.node] not in view.hidden for hit in wave.advance()):
            return False
    return True


def _path(shown: Shown, hits: dict[int, Hit], hit: Hit) -> list[PathStep]:
    """Return the way to a hit, nearest to the asked column first; each step as it was reached."""
    steps = [hit]
    while steps[-1].parent in hits:
        steps.append(hits[steps[-1].parent])
    return [PathStep(*shown.place(step.node), shown.via(step)) for step in reversed(steps)]


def _stops(moment: Snapshot, starts: Iterable[int], reached: Iterable[int], view: View, *, forward: bool) -> list[Stop]:
    """Return the datasets, of the one asked for and those with a reached column, where only tables go on."""
    dataset_of, names = moment.graph.dataset_of, moment.graph.names
    onward: dict[Name, set[Name]] = defaultdict(set)
    jobs: dict[Name, set[Name]] = defaultdict(set)
    for dataset in {dataset_of[node] for node in (*starts, *reached)}:
        for number, far in _table_level(moment, dataset, view, forward=forward):
            onward[names[dataset].plain].add(far.plain)
            jobs[names[dataset].plain].add(moment.graph.sets[number][0].job)
    return [
        Stop(
            *name.parts,
            [Dataset(*far.parts) for far in sorted(onward[name])],
            [Job(*moment.job(job).parts) for job in sorted(jobs[name])],
        )
        for name in sorted(onward)
    ]


def _table_level(moment: Snapshot, dataset: int, view: View, *, forward: bool) -> Iterator[tuple[int, Name]]:
    """Yield (edge set, dataset) where lineage goes on between tables alone."""
    graph = moment.graph
    if not forward:
        for number in graph.veiled.intersection(graph.fed_by.get(dataset, ())):
            for name in graph.sets[number][1].tables:
                source = graph.dataset(name)
                if view.says(number) and source is not None and graph.is_opaquely_written(number, source):
                    yield number, name
        return
    for each in (dataset, *view.lifetimes.others(dataset)):
        for number in graph.veiled.intersection(graph.feeds.get(each, ())):
            said = graph.sets[number][1]
            hides = graph.is_opaquely_written(number, each) or (said.carries and graph.is_opaque(number, each))
            counts = view.says(number) if each == dataset else view.reading[number]
            if counts and hides and said.output is not None and _goes_on(moment, said.output, view):
                yield number, said.output


def _goes_on(moment: Snapshot, dataset: Name, view: View) -> bool:
    """Tell whether a dataset is there, or something was made of it before it went."""
    number = moment.graph.dataset(dataset)
    return number is not None and (number not in view.hidden or bool(moment.graph.feeds.get(number)))


def path(moment: Snapshot, rules: NameRules, start: Subject, end: Subject, view: View, *, mode: Mode) -> PathAnswer:
    """Answer whether one column or dataset reaches another, and by which shortest way.

    Where it does not, `stops` are the datasets from which lineage that names no columns may yet lead there.
    """
    source, target = find_dataset(moment, rules, start), find_dataset(moment, rules, end)
    from_key = None if start.column is None else find_column(moment, source, start.column)
    to_key = None if end.column is None else find_column(moment, target, end.column)
    goal = set(nodes_of(moment, view, target, to_key))
    starts = nodes_of(moment, view, source, from_key)
    allowed = allowed_hows(moment.graph, mode, masked=True)
    wave = Wave(moment.graph, starts, view, forward=True, allowed=allowed, readers=True)
    hits: dict[int, Hit] = {}
    reached: Hit | None = None
    while wave.front and reached is None:
        layer = wave.advance()
        hits.update((hit.node, hit) for hit in layer)
        reached = next((hit for hit in layer if hit.node in goal), None)
    return PathAnswer(
        shown_column(moment, source, from_key),
        shown_column(moment, target, to_key),
        mode,
        reached is not None,
        [] if reached is None else _path(Shown(moment), hits, reached),
        _stops(moment, starts, hits, view, forward=True) if reached is None else [],
    )
