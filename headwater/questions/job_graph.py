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
from headwater.questions.answers.hierarchy_answers import ControlFlow, DataFlow, JobGraph, JobNode
from headwater.questions.subjects import find_job

_NAMED = 5
_LOOKED_AT = 5_000
"""Jobs whose dependencies are looked at."""

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


def job_graph(
    snapshot: Snapshot, counted: CountedEdges, known: JobKnowledge, granularity: Granularity, bounds: JobBounds
) -> JobGraph:
    """Answer jobs, the datasets that pass between them, and which waits for which.

    Of more than the bound those that hang together: a cut by name would leave jobs without any flow.

    Raises NotKnown for a job that nobody knows, WrongQuestion where several may be meant.
    """
    jobs = {group.job for number, (group, _) in snapshot.graph.sets.items() if counted.says(number)}
    passed = _data(snapshot, counted, known.fold)
    waits, cut = _control(known, (job for job in jobs if len(known.ancestors(job)) == 1))
    level_of = {
        each.job: each.level
        for job in sorted({*(end for pair in waits for end in pair), *jobs})
        for each in known.ancestors(job)
    }
    stands_for = Counter(known.fold(job) for job in jobs)
    every = set(stands_for) | {job for pair in (*passed, *waits) for job in pair}
    far: dict[Name, int] = {}
    if bounds.job is not None:
        start = known.fold(_find(snapshot, every | jobs, known, *bounds.job))
        far = _around(start, [*passed, *waits], bounds)
    kept = islice(_together(far or every, [*passed, *waits], far), bounds.limit)
    shown = sorted(kept, key=lambda job: (abs(far.get(job, 0)), -stands_for[job], job))
    place = {job: at for at, job in enumerate(shown)}
    nodes = [
        JobNode(*snapshot.job(job).parts, level_of.get(job, "statement"), stands_for[job], far.get(job))
        for job in shown
    ]
    return JobGraph(
        granularity,
        nodes,
        [
            DataFlow(place[start], place[end], len(names), [Dataset(*name.parts) for name in sorted(names)[:_NAMED]])
            for (start, end), names in sorted(passed.items())
            if start in place and end in place
        ],
        [
            ControlFlow(place[start], place[end], told.type, told.rule)
            for (start, end), told in sorted(waits.items(), key=lambda each: each[0])
            if start in place and end in place
        ],
        len(far or every),
        cut or len(shown) < len(far or every),
    )


def _together(jobs: Iterable[Name], pairs: Iterable[Pair], far: Mapping[Name, int]) -> Iterator[Name]:
    """Yield jobs, the nearest first, else from the one with most flows on to what these lead to or come from."""
    beside: defaultdict[Name, set[Name]] = defaultdict(set)
    for before, behind in pairs:
        beside[before].add(behind)
        beside[behind].add(before)

    def weight(job: Name) -> tuple[int, int, Name]:
        return abs(far.get(job, 0)), -len(beside.get(job, ())), job

    if far:
        yield from sorted(jobs, key=weight)
        return
    seen: set[Name] = set()
    for start in sorted(jobs, key=weight):
        todo = deque([start])
        while todo:
            job = todo.popleft()
            if job not in seen:
                seen.add(job)
                yield job
                todo.extend(sorted(beside.get(job, set()) - seen, key=weight))


def _find(snapshot: Snapshot, there: Iterable[Name], known: JobKnowledge, namespace: str | None, name: str) -> Name:
    try:
        return find_job(snapshot, there, namespace, name)
    except NotKnown:  # it may have run without a word on datasets
        others = [*known.named(namespace, name)]
        if not others:
            raise
        return find_job(snapshot, others, namespace, name)


def _data(snapshot: Snapshot, counted: CountedEdges, fold: Fold) -> Mapping[Pair, set[Name]]:
    """Return the datasets that pass from job to job; what a job reads of itself passes nothing."""
    writers: defaultdict[Name, set[Name]] = defaultdict(set)
    readers: defaultdict[Name, set[Name]] = defaultdict(set)
    for number, (group, lineage) in snapshot.graph.sets.items():
        if counted.says(number):
            if lineage.output is not None:
                writers[lineage.output.plain].add(fold(group.job))
            for name in (*lineage.tables, *lineage.also_read):
                readers[name.plain].add(fold(group.job))
    found: defaultdict[Pair, set[Name]] = defaultdict(set)
    for dataset, writing in writers.items():
        for start in writing:
            for end in readers.get(dataset, set()) - {start}:
                found[start, end].add(dataset)
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


def _around(start: Name, pairs: Iterable[Pair], bounds: JobBounds) -> dict[Name, int]:
    """Return the jobs around one by their distance, below 0 before it."""
    links: tuple[defaultdict[Name, set[Name]], ...] = (defaultdict(set), defaultdict(set))
    for before, behind in pairs:
        links[0][behind].add(before)
        links[1][before].add(behind)
    found = {start: 0}
    for side, depth, sign in ((links[0], bounds.up, -1), (links[1], bounds.down, 1)):
        for job, far in _reached(start, side, depth):
            found.setdefault(job, sign * far)
    return found


def _reached(start: Name, links: Mapping[Name, set[Name]], depth: int) -> Iterator[tuple[Name, int]]:
    todo, seen = deque([(start, 0)]), {start}
    while todo:
        job, far = todo.popleft()
        for each in sorted(links.get(job, set()) - seen) if far < depth else ():
            seen.add(each)
            todo.append((each, far + 1))
            yield each, far + 1
