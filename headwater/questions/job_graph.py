"""The graph of jobs at a granularity: which job writes what another reads, and which waits for which."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from headwater.errors import NotKnown
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_hierarchy import Ancestor, Fold, Granularity
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.time.snapshot import Snapshot
from headwater.questions.answers.answer_parts import Dataset
from headwater.questions.answers.hierarchy_answers import ControlFlow, DataFlow, DataHub, JobGraph, JobNode
from headwater.questions.subjects import find_job

_NAMED = 5
_LOOKED_AT = 5_000
"""Jobs whose dependencies are looked at."""

_PAIRS = 10
"""A dataset with more pairs of writers and readers than so many times these jobs is a hub: answers stay linear."""

Pair = tuple[Name, Name]


class Dependency(NamedTuple):
    """Control flow as an orchestrator tells it: one job waits for another."""

    before: Name
    behind: Name
    type: str | None
    rule: str | None


class JobKnowledge(NamedTuple):
    """What is known of jobs beside lineage: how they fold, what they are part of, for what they wait.

    orchestrated: tasks and DAGs, be it without a dataset; named: jobs of a namespace (or any) and name, likewise.
    """

    orchestrated: Iterable[Name]
    fold: Fold
    ancestors: Callable[[Name], list[Ancestor]]
    dependencies: Callable[[Name], Iterable[Dependency]]
    named: Callable[[str | None, str], Iterable[Name]]


class JobBounds(NamedTuple):
    """Around which job, how far before and behind it, how many nodes; job: None for all."""

    job: tuple[str | None, str] | None
    up: int
    down: int
    limit: int


class _Passing(NamedTuple):
    """Which jobs write and read a dataset, and the same from the jobs' side: as large as what events mention."""

    writers: Mapping[Name, set[Name]]
    readers: Mapping[Name, set[Name]]
    written: Mapping[Name, set[Name]]
    read: Mapping[Name, set[Name]]


def job_graph(
    snapshot: Snapshot, counted: CountedEdges, known: JobKnowledge, granularity: Granularity, bounds: JobBounds
) -> JobGraph:
    """Answer jobs, the datasets that pass between them, and which waits for which.

    Of more than the bound those that hang together: a cut by name would leave jobs without any flow.

    Raises NotKnown for a job that nobody knows, WrongQuestion where several may be meant.
    """
    jobs = {group.job for number, (group, _) in snapshot.graph.sets.items() if group.has_job and counted.says(number)}
    passing = _data(snapshot, counted, known.fold)
    waits, cut = _control(known, (job for job in jobs if len(known.ancestors(job)) == 1))
    level_of = {
        each.job: each.level
        for job in sorted({*(end for pair in waits for end in pair), *jobs})
        for each in known.ancestors(job)
    }
    stands_for = Counter(known.fold(job) for job in jobs)
    every = set(stands_for) | {job for pair in waits for job in pair}
    far: dict[Name, int] = {}
    start = None
    if bounds.job is not None:
        start = known.fold(_find(snapshot, every | jobs, known, *bounds.job))
        far = _around(start, passing, waits, bounds)
    kept = islice(_together(far or every, passing, waits, far), bounds.limit)
    shown = sorted(kept, key=lambda job: (abs(far.get(job, 0)), -stands_for[job], job))
    place = {job: at for at, job in enumerate(shown)}
    nodes = [
        JobNode(*snapshot.job(job).parts, level_of.get(job, "statement"), stands_for[job], far.get(job))
        for job in shown
    ]
    flows, hubs = _flows(passing, place, start)
    return JobGraph(
        granularity,
        nodes,
        flows,
        hubs,
        [
            ControlFlow(place[start], place[end], told.type, told.rule)
            for (start, end), told in sorted(waits.items(), key=lambda each: each[0])
            if start in place and end in place
        ],
        len(far or every),
        cut or len(shown) < len(far or every),
    )


def _together(
    jobs: Iterable[Name], passing: _Passing, waits: Iterable[Pair], far: Mapping[Name, int]
) -> Iterator[Name]:  # fmt: skip
    """Yield jobs, the nearest first, else from the one with most flows on to what these lead to or come from."""
    beside: defaultdict[Name, set[Name]] = defaultdict(set)
    for before, behind in waits:
        beside[before].add(behind)
        beside[behind].add(before)
    sides = (passing.written, passing.readers), (passing.read, passing.writers)

    def weight(job: Name) -> tuple[int, int, Name]:
        flows = sum(len(others.get(each, ())) for own, others in sides for each in own.get(job, ()))
        return abs(far.get(job, 0)), -flows - len(beside.get(job, ())), job

    if far:
        yield from sorted(jobs, key=weight)
        return
    seen, gone_through = set[Name](), (set[Name](), set[Name]())
    for start in sorted(jobs, key=weight):
        todo = deque([start])
        while todo:
            job = todo.popleft()
            if job in seen:
                continue
            seen.add(job)
            yield job
            found = set(beside.get(job, ()))
            for (own, others), gone in zip(sides, gone_through, strict=True):
                fresh = own.get(job, set()) - gone
                gone.update(fresh)
                found.update(*(others.get(dataset, ()) for dataset in fresh))
            todo.extend(sorted(found - seen, key=weight))


def _flows(passing: _Passing, place: Mapping[Name, int], asked: Name | None) -> tuple[list[DataFlow], list[DataHub]]:
    """Return what passes between jobs that are shown: pair by pair, or by a dataset where its pairs are too many."""
    found: defaultdict[tuple[int, int], list[Name]] = defaultdict(list)
    hubs = []
    middle = -1 if asked is None else place.get(asked, -1)
    for dataset in sorted(passing.writers):
        writers, readers = (
            sorted(place[job] for job in side.get(dataset, ()) if job in place)
            for side in (passing.writers, passing.readers)
        )
        is_hub = len(writers) * len(readers) > _PAIRS * (len(writers) + len(readers))
        if is_hub:
            hubs.append(DataHub(*dataset.parts, writers, readers))
        for start in writers:
            for end in readers if not is_hub or start == middle else {middle}.intersection(readers):
                if start != end:
                    found[start, end].append(dataset)
    flows = [
        DataFlow(*ends, len(names), [Dataset(*name.parts) for name in names[:_NAMED]])
        for ends, names in sorted(found.items())
    ]
    return flows, hubs


def _find(snapshot: Snapshot, there: Iterable[Name], known: JobKnowledge, namespace: str | None, name: str) -> Name:
    every = [*there]
    try:
        return find_job(snapshot, every, namespace, name, whole=True)
    except NotKnown:  # it may have run without a word on datasets
        others = [*known.named(namespace, name)]
        return find_job(snapshot, others or every, namespace, name)


def _data(snapshot: Snapshot, counted: CountedEdges, fold: Fold) -> _Passing:
    found = _Passing(defaultdict(set), defaultdict(set), defaultdict(set), defaultdict(set))
    for number, (group, lineage) in snapshot.graph.sets.items():
        if group.has_job and counted.says(number):
            job = fold(group.job)
            if lineage.output is not None:
                found.writers[lineage.output.plain].add(job)
                found.written[job].add(lineage.output.plain)
            for name in (*lineage.tables, *lineage.also_read):
                found.readers[name.plain].add(job)
                found.read[job].add(name.plain)
    return found


def _control(known: JobKnowledge, jobs: Iterable[Name]) -> tuple[dict[Pair, Dependency], bool]:
    """Return which job waits for which, and whether more jobs than were looked at might say so."""
    told: dict[Pair, Dependency] = {}
    asked = sorted({*known.orchestrated, *jobs})
    for job in asked[:_LOOKED_AT]:
        for each in known.dependencies(job):
            pair = known.fold(each.before), known.fold(each.behind)
            if pair[0] != pair[1]:
                told.setdefault(pair, each)
    return told, len(asked) > _LOOKED_AT


def _around(start: Name, passing: _Passing, waits: Iterable[Pair], bounds: JobBounds) -> dict[Name, int]:
    """Return the jobs around one by their distance, below 0 before it."""
    links: tuple[defaultdict[Name, set[Name]], ...] = (defaultdict(set), defaultdict(set))
    for before, behind in waits:
        links[0][behind].add(before)
        links[1][before].add(behind)
    found = {start: 0}
    for beside, through, jobs, depth, sign in (
        (links[0], passing.read, passing.writers, bounds.up, -1),
        (links[1], passing.written, passing.readers, bounds.down, 1),
    ):
        for job, far in _reached(start, _Steps(beside, through, jobs), depth):
            found.setdefault(job, sign * far)
    return found


class _Steps(NamedTuple):
    """Where one may go from a job: to others, and through datasets to the jobs on their other side."""

    beside: Mapping[Name, set[Name]]
    through: Mapping[Name, set[Name]]
    jobs: Mapping[Name, set[Name]]


def _reached(start: Name, steps: _Steps, depth: int) -> Iterator[tuple[Name, int]]:
    """Yield jobs, the nearest first; each dataset is gone through once."""
    todo, seen, gone_through = deque([(start, 0)]), {start}, set[Name]()
    while todo:
        job, far = todo.popleft()
        if far == depth:
            continue
        fresh = steps.through.get(job, set()) - gone_through
        gone_through |= fresh
        beside = steps.beside.get(job, set()).union(*(steps.jobs.get(dataset, set()) for dataset in fresh))
        for each in sorted(beside - seen):
            seen.add(each)
            todo.append((each, far + 1))
            yield each, far + 1
