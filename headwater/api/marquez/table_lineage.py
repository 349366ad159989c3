"""Lineage of tables: jobs and datasets around a node, in the direction in which data flows."""

from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

from headwater.api.marquez.datasets import dataset_json
from headwater.api.marquez.jobs import job_json
from headwater.api.marquez.nodes import dataset_id, find_node, job_id
from headwater.api.marquez.requests import Answer, Asked, required
from headwater.events.facet_sets import OF_COLUMNS
from headwater.index.reading.catalog_lists import JobRow
from headwater.index.writing.announced_changes import NAMESPACE
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.time.snapshot import Snapshot

MAX_NODES = 2_000
"""Nodes of one answer; one that was cut here says `truncated`."""


_LARGE = ("schema", *OF_COLUMNS)
"""Facets that nodes leave out: `fields` says the one, the dataset's own page both. Marquez's nodes have no facets."""


class Sides(NamedTuple):
    """The datasets of a job."""

    inputs: set[Name]
    outputs: set[Name]


class Tables:
    """The graph of jobs and datasets at one moment; of a job that runs also what it has reported so far."""

    def __init__(self, asked: Asked):
        """asked: what the request sees."""
        self._moment: Snapshot = asked.view.snapshot
        self._counted: CountedEdges = asked.view.counted
        self._catalog = asked.catalog
        self._is_now = asked.is_now and not asked.query.get("knownAt")
        self._names_of = asked.names_of
        self._rows: dict[Name, JobRow | None] = {}

    def sides(self, job: Name) -> Sides:
        """Return what a job, by its key, reads and writes."""
        graph, found = self._moment.graph, Sides(set(), set())
        for number in graph.of_job.get(job, ()):
            _, said = graph.sets[number]
            if self._counted.says(number) and not self._is_hidden(said.output):
                read = {name.plain for name in (*said.tables, *said.also_read)}
                found.inputs.update(name for name in read if not self._is_gone(name))
                found.outputs.update(() if said.output is None else (said.output.plain,))
        running = self._running(job)
        return Sides(found.inputs | running.inputs, found.outputs | running.outputs)

    def jobs(self, dataset: Name) -> set[Name]:
        """Return the keys of the jobs that read or write a dataset."""
        graph = self._moment.graph
        counted, found = self._counted, set[Name]()
        if not self._is_gone(dataset):
            own = counted.lifetimes.standing(dataset)
            found.update(
                graph.sets[each][0].job
                for each in graph.fed_by.get(own or 0, ())
                if own is not None and counted.says(each)
            )
            for number in counted.lifetimes.of(dataset):
                sets = graph.feeds.get(number, ())
                found.update(graph.sets[each][0].job for each in sets if counted.reading[each])
        return {job for job in found | self._running_at(dataset) if self.row(job)}

    def row(self, job: Name) -> JobRow | None:
        """Return a job, None for what is none: declarations of datasets, what we do ourselves, deleted ones."""
        if job not in self._rows:
            self._rows[job] = self._look_up(job)
        return self._rows[job]

    def _is_gone(self, name: Name) -> bool:
        return not self._counted.shows_gone and not self._moment.stands(name)

    def _is_hidden(self, name: Name | None) -> bool:
        return name is not None and self._moment.graph.dataset(name) in self._counted.hidden

    def _look_up(self, job: Name) -> JobRow | None:
        if not job.name or job.namespace in ("", NAMESPACE):
            return None
        row = self._catalog.job_of(self._catalog.number(job))
        deleted_us = self._catalog.deleted_us(self._catalog.name(row.shown)) if row else None
        return row if row and (deleted_us is None or deleted_us < row.last_us) else None

    def _running(self, job: Name) -> Sides:
        row = self.row(job) if self._is_now else None
        newest = self._catalog.runs.newest(row.key, 1) if row and row.state == "RUNNING" else []
        if not newest:
            return Sides(set(), set())
        said = newest[0].datasets()
        return Sides(
            {self._catalog.name(each) for each in said.inputs}, {self._catalog.name(n) for n, _ in said.outputs}
        )

    def _running_at(self, dataset: Name) -> set[Name]:
        if not self._is_now:
            return set()
        jobs = self._catalog.running_at(self._names_of(dataset))
        return {job for job in jobs if dataset in self._running(job).inputs | self._running(job).outputs}


def get_lineage(asked: Asked) -> Answer:
    """GET /lineage: the jobs up to `depth` steps from a node, each with all its datasets."""
    node = find_node(asked, required(asked.query, "nodeId"))
    tables = Tables(asked)
    jobs: dict[Name, Sides] = {}
    datasets: set[Name] = {node.dataset} if node.dataset else set()
    fresh, front = set(datasets), {asked.catalog.name(node.job.key)} if node.job else set()
    truncated = False
    for _ in range(max(1 if node.job else 0, asked.depth())):
        front |= {job for name in fresh for job in tables.jobs(name)} - jobs.keys()
        if not front:
            break
        for job in sorted(front):
            jobs[job] = tables.sides(job)
        fresh = {name for job in front for side in jobs[job] for name in side} - datasets
        datasets |= fresh
        if len(jobs) + len(datasets) > MAX_NODES:
            truncated = True
            break
        front = set()
    return _TableDrawing(asked, tables, jobs, datasets).answer(truncated=truncated)


class _TableDrawing:
    """The nodes and edges of one answer."""

    def __init__(self, asked: Asked, tables: Tables, jobs: dict[Name, Sides], datasets: set[Name]):
        self._asked = asked
        self._ids = {name: dataset_id(name) for name in datasets}
        self._into: dict[str, list[str]] = {}
        self._out: dict[str, list[str]] = {}
        self._jobs = {}
        for key, sides in jobs.items():
            row = tables.row(key)
            if row is None:
                continue
            job = job_id(asked.catalog.name(row.shown))
            self._jobs[job] = row
            for name in sides.inputs & datasets:
                self._connect(self._ids[name], job)
            for name in sides.outputs & datasets:
                self._connect(job, self._ids[name])

    def _connect(self, origin: str, destination: str) -> None:
        self._out.setdefault(origin, []).append(destination)
        self._into.setdefault(destination, []).append(origin)

    def answer(self, *, truncated: bool) -> Answer:
        """Return the nodes, by their ids."""
        asked = self._asked
        makers: dict[str, tuple[str, Callable[[], Answer]]] = {}
        for node, row in self._jobs.items():
            makers[node] = ("JOB", lambda row=row: job_json(asked.catalog, row, runs=1))  # type: ignore[misc]
        for name, node in self._ids.items():
            makers[node] = ("DATASET", lambda name=name: _dataset(asked, name))  # type: ignore[misc]
        kept = dict.fromkeys(sorted(makers)[:MAX_NODES])
        graph = [self._node(node, *makers[node], kept) for node in kept]
        return {"graph": graph, "truncated": truncated or len(kept) < len(makers)}

    def _node(self, node: str, kind: str, data: Callable[[], Answer], kept: Container[str]) -> dict[str, Any]:
        return {
            "id": node,
            "type": kind,
            "data": data(),
            "inEdges": _edges(((origin, node) for origin in self._into.get(node, ())), kept),
            "outEdges": _edges(((node, far) for far in self._out.get(node, ())), kept),
        }


def _dataset(asked: Asked, name: Name) -> Answer:
    found = dataset_json(asked, name, lineage=False)
    return {**found, "facets": {key: text for key, text in found["facets"].items() if key not in _LARGE}}


def _edges(pairs: Iterable[tuple[str, str]], kept: Container[str]) -> list[dict[str, str]]:
    inside = sorted({pair for pair in pairs if pair[0] in kept and pair[1] in kept})
    return [{"origin": origin, "destination": destination} for origin, destination in inside]
