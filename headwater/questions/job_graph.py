"""The question `job-graph`: data flow and control flow between jobs at a granularity."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from headwater.common.errors import NotKnown
from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import Ancestor, FoldJob, JobLevel, job_key
from headwater.lineage.runs.task_order import OrderOfTasks
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.questions.answer_types.common import Dataset
from headwater.questions.answer_types.graphs import ControlFlow, DataFlow, DataHub, JobGraph, JobNode
from headwater.questions.subjects import find_job

_MAX_NAMED = 5
_MAX_JOBS = 5_000
"""Maximum number of jobs for which dependencies are read."""

_PAIRS = 10
"""A dataset is a hub if it has more pairs of writer and reader than this number times its jobs.

So the number of flows grows only linearly with the number of jobs.
"""

Pair = tuple[Name, Name]


class Dependency(NamedTuple):
    """Control flow that an orchestrator reports: `successor` waits for `predecessor`."""

    predecessor: Name
    successor: Name
    type: str | None
    rule: str | None


class JobContext(NamedTuple):
    """Facts about jobs.

    orchestrated: tasks and DAGs, including tasks and DAGs without datasets. fold_job: maps a job to the job that
    represents it. ancestors: returns the ancestors of a job. dependencies: returns the dependencies of a job.
    jobs_by_name: returns the jobs with a name in a namespace; None means any namespace.
    task_order: the order of tasks inside DAGs (rule 3.6).
    group_of: returns the task group of a task; None for other jobs.
    """

    orchestrated: Iterable[Name]
    fold_job: FoldJob
    ancestors: Callable[[Name], list[Ancestor]]
    dependencies: Callable[[Name], Iterable[Dependency]]
    jobs_by_name: Callable[[str | None, str], Iterable[Name]]
    task_order: Iterable[Dependency] = ()
    group_of: Callable[[Name], str | None] = lambda _: None


class JobBounds(NamedTuple):
    """Bounds of a job graph.

    job: (namespace, name) of the central job, or None for all jobs. up, down: maximum distances from the central job.
    limit: maximum number of nodes.
    """

    job: tuple[str | None, str] | None
    up: int
    down: int
    limit: int


class _DatasetFlow(NamedTuple):
    """Maps each dataset to the jobs that write and read it, and each job to the datasets that it writes and reads."""

    writers: Mapping[Name, set[Name]]
    readers: Mapping[Name, set[Name]]
    written: Mapping[Name, set[Name]]
    read: Mapping[Name, set[Name]]


def job_graph(
    snapshot: Snapshot, counted: CountedEdges, known: JobContext, granularity: JobLevel, bounds: JobBounds
) -> JobGraph:
    """Return jobs with data flow and control flow between them.

    If there are more jobs than the limit, connected jobs are returned. Truncating the list by name would return jobs
    with no flow between them.
    Raises NotKnown for an unknown job, and WrongQuestion if several jobs match.
    """
    jobs = {
        group.job
        for number, (group, _) in snapshot.graph.edge_sets.items()
        if group.has_job and counted.is_counted(number)
    }
    flow = _read_dataset_flow(snapshot, counted, known.fold_job)
    control, cut = _control_flow(known, (job for job in jobs if len(known.ancestors(job)) == 1))
    level_of = {
        each.job: each.level
        for job in sorted({*(end for pair in control for end in pair), *jobs})
        for each in known.ancestors(job)
    }
    represents = Counter(known.fold_job(job) for job in jobs)
    every = set(represents) | {job for pair in control for job in pair}
    far: dict[Name, int] = {}
    start = None
    if bounds.job is not None:
        start = known.fold_job(_find_job(snapshot, every | jobs, known, *bounds.job))
        far = _distances_from_job(start, flow, control, bounds)
    limited = islice(_nearest_or_busiest_first(far or every, flow, control, far), bounds.limit)
    shown = sorted(limited, key=lambda job: (abs(far.get(job, 0)), -represents[job], job))
    place = {job: at for at, job in enumerate(shown)}
    nodes = [
        JobNode(
            *snapshot.job_name(job).parts,
            level_of.get(job, "statement"),
            represents[job],
            far.get(job),
            known.group_of(job),
        )
        for job in shown
    ]
    flows, hubs = _data_flows_and_hubs(flow, place, start)
    return JobGraph(
        granularity,
        nodes,
        flows,
        hubs,
        [
            ControlFlow(place[start], place[end], dependency.type, dependency.rule)
            for (start, end), dependency in sorted(control.items(), key=lambda each: each[0])
            if start in place and end in place
        ],
        len(far or every),
        cut or len(shown) < len(far or every),
    )


def _nearest_or_busiest_first(
    jobs: Iterable[Name], flow: _DatasetFlow, control: Iterable[Pair], distances: Mapping[Name, int]
) -> Iterator[Name]:  # fmt: skip
    """Yield jobs in the order in which the limit cuts them.

    With a central job, the nearest jobs come first. Otherwise the job with the most flows comes first, followed by the
    jobs that are connected with it.
    """
    neighbours: defaultdict[Name, set[Name]] = defaultdict(set)
    for predecessor, successor in control:
        neighbours[predecessor].add(successor)
        neighbours[successor].add(predecessor)
    sides = (flow.written, flow.readers), (flow.read, flow.writers)

    def sort_key(job: Name) -> tuple[int, int, Name]:
        flows = sum(len(others.get(each, ())) for own, others in sides for each in own.get(job, ()))
        return abs(distances.get(job, 0)), -flows - len(neighbours.get(job, ())), job

    if distances:
        yield from sorted(jobs, key=sort_key)
        return
    seen, visited = set[Name](), (set[Name](), set[Name]())
    for start in sorted(jobs, key=sort_key):
        todo = deque([start])
        while todo:
            job = todo.popleft()
            if job in seen:
                continue
            seen.add(job)
            yield job
            found = set(neighbours.get(job, ()))
            for (own, others), gone in zip(sides, visited, strict=True):
                fresh = own.get(job, set()) - gone
                gone.update(fresh)
                found.update(*(others.get(dataset, ()) for dataset in fresh))
            todo.extend(sorted(found - seen, key=sort_key))


def _data_flows_and_hubs(
    flow: _DatasetFlow, position_of: Mapping[Name, int], central_job: Name | None
) -> tuple[list[DataFlow], list[DataHub]]:
    """Return (data flows between pairs of shown jobs, hubs).

    A hub is a dataset with too many pairs of writer and reader.
    """
    found: defaultdict[tuple[int, int], list[Name]] = defaultdict(list)
    hubs = []
    middle = -1 if central_job is None else position_of.get(central_job, -1)
    for dataset in sorted(flow.writers):
        writers, readers = (
            sorted(position_of[job] for job in side.get(dataset, ()) if job in position_of)
            for side in (flow.writers, flow.readers)
        )
        is_hub = len(writers) * len(readers) > _PAIRS * (len(writers) + len(readers))
        if is_hub:
            hubs.append(DataHub(*dataset.parts, writers, readers))
        for start in writers:
            for end in readers if not is_hub or start == middle else {middle}.intersection(readers):
                if start != end:
                    found[start, end].append(dataset)
    flows = [
        DataFlow(*ends, len(names), [Dataset(*name.parts) for name in names[:_MAX_NAMED]])
        for ends, names in sorted(found.items())
    ]
    return flows, hubs


def _find_job(snapshot: Snapshot, jobs: Iterable[Name], known: JobContext, namespace: str | None, name: str) -> Name:
    every = [*jobs]
    try:
        return find_job(snapshot, every, namespace, name, exact=True)
    except NotKnown:  # it may have run without reporting datasets
        others = [*known.jobs_by_name(namespace, name)]
        return find_job(snapshot, others or every, namespace, name)


def _read_dataset_flow(snapshot: Snapshot, counted: CountedEdges, fold: FoldJob) -> _DatasetFlow:
    found = _DatasetFlow(defaultdict(set), defaultdict(set), defaultdict(set), defaultdict(set))
    for number, (group, lineage) in snapshot.graph.edge_sets.items():
        if group.has_job and counted.is_counted(number):
            job = fold(group.job)
            if lineage.output is not None:
                found.writers[lineage.output.without_generation].add(job)
                found.written[job].add(lineage.output.without_generation)
            for name in (*lineage.source_datasets, *lineage.other_inputs):
                found.readers[name.without_generation].add(job)
                found.read[job].add(name.without_generation)
    return found


def _control_flow(known: JobContext, jobs: Iterable[Name]) -> tuple[dict[Pair, Dependency], bool]:
    """Return (control flow by pair of jobs, whether the limit left out jobs)."""
    dependencies: dict[Pair, Dependency] = {}
    asked = sorted({*known.orchestrated, *jobs})
    for job in asked[:_MAX_JOBS]:
        for each in known.dependencies(job):
            pair = known.fold_job(each.predecessor), known.fold_job(each.successor)
            if pair[0] != pair[1]:
                dependencies.setdefault(pair, each)
    for each in known.task_order:
        pair = known.fold_job(each.predecessor), known.fold_job(each.successor)
        if pair[0] != pair[1]:
            dependencies.setdefault(pair, each)
    return dependencies, len(asked) > _MAX_JOBS


def _distances_from_job(start: Name, flow: _DatasetFlow, control: Iterable[Pair], bounds: JobBounds) -> dict[Name, int]:
    """Map each job around a job to its distance. Distances upstream are negative."""
    links: tuple[defaultdict[Name, set[Name]], ...] = (defaultdict(set), defaultdict(set))
    for predecessor, successor in control:
        links[0][successor].add(predecessor)
        links[1][predecessor].add(successor)
    found = {start: 0}
    for neighbours, through, jobs, depth, sign in (
        (links[0], flow.read, flow.writers, bounds.up, -1),
        (links[1], flow.written, flow.readers, bounds.down, 1),
    ):
        for job, far in _reachable_jobs(start, _JobSteps(neighbours, through, jobs), depth):
            found.setdefault(job, sign * far)
    return found


class _JobSteps(NamedTuple):
    """Steps from a job in one direction.

    neighbours: maps each job to the jobs next to it in the control flow. through: maps each job to its datasets on this
    side. jobs: maps each dataset to the jobs at its other side.
    """

    neighbours: Mapping[Name, set[Name]]
    through: Mapping[Name, set[Name]]
    jobs: Mapping[Name, set[Name]]


def _reachable_jobs(start: Name, steps: _JobSteps, depth: int) -> Iterator[tuple[Name, int]]:
    """Yield reachable jobs, nearest first. Each dataset is visited once."""
    todo, seen, visited = deque([(start, 0)]), {start}, set[Name]()
    while todo:
        job, far = todo.popleft()
        if far == depth:
            continue
        fresh = steps.through.get(job, set()) - visited
        visited |= fresh
        neighbours = steps.neighbours.get(job, set()).union(*(steps.jobs.get(dataset, set()) for dataset in fresh))
        for each in sorted(neighbours - seen):
            seen.add(each)
            todo.append((each, far + 1))
            yield each, far + 1


TASK_ORDER = "TASK_ORDER"
"""The type of a dependency between two tasks of one DAG. The other types are those of the facet `jobDependencies`."""


def dependencies_of_tasks(order: OrderOfTasks) -> list[Dependency]:
    """Return the order of tasks (rule 3.6) as dependencies."""
    return [Dependency(*pair, TASK_ORDER, rule) for pair, rule in sorted(order.pairs.items())]


def dependencies_of(job: Name, facet: Any) -> Iterator[Dependency]:
    """Yield the dependencies of a job. facet: the decoded facet with dependencies; it may have any structure."""
    for side in ("upstream", "downstream"):
        listed = facet.get(side) if isinstance(facet, dict) else None
        for each in listed if isinstance(listed, list) else ():
            namespace, name = text_at(each, "job", "namespace"), text_at(each, "job", "name")
            if namespace is None or not name:
                continue
            other = job_key(Name(namespace, name), None)
            ends = (other, job) if side == "upstream" else (job, other)
            rule = text_at(each, "status_trigger_rule") or text_at(facet, "trigger_rule")
            yield Dependency(*ends, text_at(each, "dependency_type"), rule)
