"""Table lineage: jobs and datasets around a node, with edges in the direction of the data flow."""

from collections.abc import Callable, Container, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, get_args

from headwater.api.marquez.datasets import dataset_json
from headwater.api.marquez.jobs import job_json
from headwater.api.marquez.nodes import dataset_id, find_node, job_id, with_requested_spelling
from headwater.api.marquez.requests import Answer, RequestContext, parse_granularity, required_parameter
from headwater.events.facet_sets import OF_COLUMNS
from headwater.index.api_changes import NAMESPACE
from headwater.index.reading.catalog import JobRow
from headwater.index.reading.jobs import JobAncestry
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import FoldJob, JobLevel, fold_into_level
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot

MAX_NODES = 2_000
"""Maximum number of nodes in an answer. A larger graph is cut and has the member `truncated`."""


_LARGE = ("schema", *OF_COLUMNS)
"""Facets that nodes omit because of their size. Marquez's nodes have no facets at all."""


class JobDatasets(NamedTuple):
    """The datasets that a job reads and writes."""

    inputs: set[Name]
    outputs: set[Name]


class TableGraph:
    """The graph of jobs and datasets at one time. For a running job, it includes the datasets reported so far.

    With a granularity, a job is folded into its application, task or DAG if that job has sent events itself.
    """

    def __init__(self, context: RequestContext):
        self._moment: Snapshot = context.view.snapshot
        self._counted: CountedEdges = context.view.counted_edges
        self._catalog = context.catalog
        self._is_now = context.is_now and not context.query.get("knownAt")
        self._names_of = context.names_of
        self._rows: dict[Name, JobRow | None] = {}
        started = JobAncestry(self._catalog.live).started
        self.granularity: JobLevel = parse_granularity(context.query)
        levels = get_args(JobLevel)[1 : get_args(JobLevel).index(self.granularity) + 1]
        self._folds: list[FoldJob] = [fold_into_level(level, started) for level in reversed(levels)]

    def fold_job(self, job: Name) -> Name:
        """Return the job into which a job is folded, or the job itself."""
        return next((folded for fold in self._folds if self.visible_job_row(folded := fold(job))), job)

    @cached_property
    def _jobs_by_group(self) -> dict[Name, list[Name]]:
        found: dict[Name, list[Name]] = {}
        for job in self._moment.graph.edge_sets_by_job if self._folds else ():
            found.setdefault(self.fold_job(job), []).append(job)
        return found

    def datasets_of_job(self, job: Name) -> JobDatasets:
        """Return the datasets that a job reads and writes. job: canonical name of the job."""
        found = JobDatasets(set(), set())
        for each in self._jobs_by_group.get(job, (job,)):
            for lineage in self._reported_lineage(each):
                read = {name.without_generation for name in (*lineage.source_datasets, *lineage.other_inputs)}
                found.inputs.update(name for name in read if not self._is_deleted(name))
                found.outputs.update(() if lineage.output is None else (lineage.output.without_generation,))
            running = self._datasets_of_running_job(each)
            found.inputs.update(running.inputs)
            found.outputs.update(running.outputs)
        return found

    def dataset_pairs(self, job: Name) -> set[tuple[Name, Name]]:
        """Return the pairs (input, output) of a job. A folded job does not connect each input with each output."""
        reported = (
            lineage for each in self._jobs_by_group.get(job, (job,)) for lineage in self._reported_lineage(each)
        )
        return {
            (name.without_generation, lineage.output.without_generation)
            for lineage in reported
            if lineage.output is not None
            for name in lineage.source_datasets
        }

    def _reported_lineage(self, job: Name) -> Iterator[OutputLineage]:
        graph = self._moment.graph
        lineage = (
            graph.edge_sets[number][1]
            for number in graph.edge_sets_by_job.get(job, ())
            if self._counted.is_counted(number)
        )
        return (each for each in lineage if not self._is_hidden(each.output))

    def jobs_of_dataset(self, dataset: Name) -> set[Name]:
        """Return the canonical names of the jobs that read or write a dataset."""
        graph = self._moment.graph
        counted, found = self._counted, set[Name]()
        if not self._is_deleted(dataset):
            own = counted.lifetimes.existing_generation(dataset)
            found.update(
                graph.edge_sets[each][0].job
                for each in graph.writers_by_dataset.get(own or 0, ())
                if own is not None and counted.is_counted(each)
            )
            for number in counted.lifetimes.all_generations(dataset):
                sets = graph.readers_by_dataset.get(number, ())
                found.update(graph.edge_sets[each][0].job for each in sets if counted.reading_mask[each])
        return {
            self.fold_job(job) for job in found | self._running_jobs_of_dataset(dataset) if self.visible_job_row(job)
        }

    def visible_job_row(self, job: Name) -> JobRow | None:
        """Return a job to show; None for dataset declarations, jobs of Headwater itself, and deleted jobs."""
        if job not in self._rows:
            self._rows[job] = self._look_up_job(job)
        return self._rows[job]

    def _is_deleted(self, name: Name) -> bool:
        return not self._counted.shows_dropped and not self._moment.exists(name)

    def _is_hidden(self, name: Name | None) -> bool:
        return name is not None and self._moment.graph.dataset_number(name) in self._counted.dropped_datasets

    def _look_up_job(self, job: Name) -> JobRow | None:
        if not job.name or job.namespace in ("", NAMESPACE):
            return None
        row = self._catalog.job_by_key_number(self._catalog.number_of_name(job))
        deleted_us = self._catalog.deleted_us(self._catalog.name_of_number(row.display_name)) if row else None
        return row if row and (deleted_us is None or deleted_us < row.last_us) else None

    def _datasets_of_running_job(self, job: Name) -> JobDatasets:
        row = self.visible_job_row(job) if self._is_now else None
        newest = self._catalog.runs.newest_runs(row.key_number, 1) if row and row.state == "RUNNING" else []
        if not newest:
            return JobDatasets(set(), set())
        datasets = newest[0].datasets()
        return JobDatasets(
            {self._catalog.name_of_number(each) for each in datasets.inputs},
            {self._catalog.name_of_number(n) for n, _ in datasets.outputs},
        )

    def _running_jobs_of_dataset(self, dataset: Name) -> set[Name]:
        if not self._is_now:
            return set()
        jobs = self._catalog.running_jobs_using(self._names_of(dataset))
        return {
            job
            for job in jobs
            if dataset in self._datasets_of_running_job(job).inputs | self._datasets_of_running_job(job).outputs
        }


def get_lineage(context: RequestContext) -> Answer:
    """GET /lineage: the jobs up to `depth` steps from a node, with all their datasets.

    The requested node keeps the id of the request, which may be an alias. With `granularity`, which is our extension,
    jobs are folded and have `flows`, the pairs of input and output.
    """
    text = required_parameter(context.query, "nodeId")
    node = find_node(context, text)
    tables = TableGraph(context)
    jobs: dict[Name, JobDatasets] = {}
    datasets: set[Name] = {node.dataset} if node.dataset else set()
    fresh, frontier = (
        set(datasets),
        {tables.fold_job(context.catalog.name_of_number(node.job.key_number))} if node.job else set(),
    )
    truncated = False
    for _ in range(max(1 if node.job else 0, context.depth())):
        frontier |= {job for name in fresh for job in tables.jobs_of_dataset(name)} - jobs.keys()
        if not frontier:
            break
        for job in sorted(frontier):
            jobs[job] = tables.datasets_of_job(job)
        fresh = {name for job in frontier for side in jobs[job] for name in side} - datasets
        datasets |= fresh
        if len(jobs) + len(datasets) > MAX_NODES:
            truncated = True
            break
        frontier = set()
    found = _TableGraphAnswer(context, tables, jobs, datasets).answer(truncated=truncated)
    own = (
        dataset_id(node.dataset)
        if node.dataset
        else job_id(context.catalog.name_of_number(node.job.display_name))
        if node.job
        else ""
    )
    return with_requested_spelling(found, own, text.removesuffix(f"#{node.version}"))


class _TableGraphAnswer:
    """Builds the nodes and edges of an answer."""

    def __init__(self, context: RequestContext, tables: TableGraph, jobs: dict[Name, JobDatasets], datasets: set[Name]):
        self._context = context
        self._ids = {name: dataset_id(name) for name in datasets}
        self._into: dict[str, list[str]] = {}
        self._out: dict[str, list[str]] = {}
        self._jobs = {}
        self._flows = {}
        for key, sides in jobs.items():
            row = tables.visible_job_row(key)
            if row is None:
                continue
            job = job_id(context.catalog.name_of_number(row.display_name))
            self._jobs[job] = row
            if tables.granularity != "statement":
                self._flows[job] = [(dataset_id(start), dataset_id(end)) for start, end in tables.dataset_pairs(key)]
            for name in sides.inputs & datasets:
                self._add_edge(self._ids[name], job)
            for name in sides.outputs & datasets:
                self._add_edge(job, self._ids[name])

    def _add_edge(self, origin: str, destination: str) -> None:
        self._out.setdefault(origin, []).append(destination)
        self._into.setdefault(destination, []).append(origin)

    def answer(self, *, truncated: bool) -> Answer:
        """Return the graph, with nodes sorted by id."""
        context = self._context
        makers: dict[str, tuple[str, Callable[[], Answer]]] = {}
        for node, row in self._jobs.items():
            makers[node] = ("JOB", lambda row=row, node=node: self._job_json(row, node))  # type: ignore[misc]
        for name, node in self._ids.items():
            makers[node] = ("DATASET", lambda name=name: _dataset_json(context, name))  # type: ignore[misc]
        kept = dict.fromkeys(sorted(makers)[:MAX_NODES])
        graph = [self._node_json(node, *makers[node], kept) for node in kept]
        return {"graph": graph, "truncated": truncated or len(kept) < len(makers)}

    def _job_json(self, row: JobRow, node: str) -> Answer:
        flows = self._flows.get(node)
        extra = (
            {} if flows is None else {"flows": [{"origin": start, "destination": end} for start, end in sorted(flows)]}
        )
        return {**job_json(self._context.catalog, row, runs=1), **extra}

    def _node_json(
        self, node: str, kind: str, data: Callable[[], Answer], shown_nodes: Container[str]
    ) -> dict[str, Any]:
        return {
            "id": node,
            "type": kind,
            "data": data(),
            "inEdges": _edges_json(((origin, node) for origin in self._into.get(node, ())), shown_nodes),
            "outEdges": _edges_json(((node, far) for far in self._out.get(node, ())), shown_nodes),
        }


def _dataset_json(context: RequestContext, name: Name) -> Answer:
    found = dataset_json(context, name, lineage=False)
    return {**found, "facets": {key: text for key, text in found["facets"].items() if key not in _LARGE}}


def _edges_json(pairs: Iterable[tuple[str, str]], shown_nodes: Container[str]) -> list[dict[str, str]]:
    inside = sorted({pair for pair in pairs if pair[0] in shown_nodes and pair[1] in shown_nodes})
    return [{"origin": origin, "destination": destination} for origin, destination in inside]
