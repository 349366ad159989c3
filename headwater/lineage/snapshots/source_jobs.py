"""Rules 4.7 and 4.12: find the inputs that JobEvents explain, and the datasets that source jobs read.

A source job is a job that lineage names as a source instead of a dataset.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import chain
from typing import NamedTuple

from headwater.lineage.edges.accounted_columns import ALL_COLUMNS, ColumnList, LineColumns
from headwater.lineage.edges.output_lineage import JobFeed, OutputLineage
from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.traversal.column_graph import Graph


class Explanations(NamedTuple):
    """The explanations of JobEvents in force for edge sets of observed runs.

    inputs: maps edge sets to the inputs that a JobEvent covers. The JobEvent accounts for every column of the output.
    complete: edge sets with unaccounted columns for which a JobEvent accounts.
    """

    inputs: dict[int, tuple[Name, ...]]
    complete: set[int]


def explain_by_job_events(
    graph: Graph,
    in_force: Callable[[int], bool],
    columns_of: Callable[[Name], Columns],
    name_of: Callable[[Name], Name],
) -> Explanations:
    """Return the explanations of JobEvents in force for the observed runs of their jobs.

    in_force: returns whether the declaration with an edge set number is in force.
    columns_of: returns the columns of a dataset.
    name_of: returns the name of a job from its key. Users declare jobs by name, but the key may be an artifact's id.
    """
    found = Explanations({}, set())
    for number in filter(in_force, graph.declared_edge_sets):
        job_output, lineage = graph.edge_sets[number]
        dataset = None if lineage.output is None else graph.dataset_number(lineage.output)
        if lineage.output is None or dataset is None:
            continue
        writers = [(each, graph.edge_sets[each][0]) for each in graph.writers_by_dataset.get(dataset, ())]
        observed = [(each, by.job) for each, by in writers if by.layer == "observed" and by.output == lineage.output]
        same = [each for each, key in observed if job_output.job in (key, name_of(key))]
        if not same:
            continue
        columns = columns_of(lineage.output)
        listed = ColumnList(frozenset(columns.by_key), columns.top_level)
        accounted = _accounted_columns(lineage)
        is_whole = not listed.unaccounted_keys(accounted)
        for each in same:
            if is_whole:
                found.inputs[each] = lineage.column_sources
            left_out = frozenset(graph.edge_sets[each][1].unaccounted_columns)
            known = bool(left_out) and ALL_COLUMNS not in left_out
            if known and not ColumnList(left_out, listed.top_level).unaccounted_keys(accounted):
                found.complete.add(each)
    return found


def _accounted_columns(lineage: OutputLineage) -> LineColumns:
    """Return the columns for which a declaration accounts. Its dataset-wide edges account for no column."""
    named = {edge.target for edge in lineage.edges if edge.target is not None}
    return LineColumns(
        named.union(lineage.sourceless_columns).difference(lineage.unaccounted_columns), frozenset(), frozenset()
    )


class DatasetsThroughJobs(NamedTuple):
    """The datasets that feed edge sets through source jobs.

    by_edge_set: maps edge sets to the datasets that their source jobs read.
    unfollowed_edge_sets: edge sets with a source job that reports no dataset in its newest executions. This also
    includes edge sets of a job that is its own source and reports no dataset that it reads.
    """

    by_edge_set: dict[int, frozenset[Name]]
    unfollowed_edge_sets: frozenset[int]


def follow_source_jobs(
    graph: Graph,
    is_newest: Callable[[int], bool],
    key_as_sent: Callable[[Name], Name],
    name_of: Callable[[Name], Name],
) -> DatasetsThroughJobs:
    """Find the datasets that the source jobs of all edge sets read, directly or through other jobs.

    is_newest: returns whether an edge set belongs to the newest execution of its job and output, or is a declaration in
    force.
    key_as_sent: returns the key of a job from its name as sent.
    name_of: returns the name of a job from its key, which may be the id of an artifact.
    """
    if not graph.with_source_jobs:  # no edge set has a job as a source
        return DatasetsThroughJobs({}, frozenset())
    jobs = _JobReads(graph, graph.edge_sets_by_job, key_as_sent, name_of)
    newest = {key: set(filter(is_newest, numbers)) for key, numbers in graph.edge_sets_by_job.items()}
    newest_jobs = _JobReads(graph, newest, key_as_sent, name_of)
    through: dict[int, frozenset[Name]] = {}
    unfollowed = set()
    for number in graph.with_source_jobs:
        job_output, lineage = graph.edge_sets[number]
        sources = set(map(key_as_sent, lineage.source_jobs))
        every = jobs.with_source_jobs(sources)
        found = frozenset().union(*map(jobs.datasets_read_by, every))
        if found:
            through[number] = found
        own = {job_output.job, name_of(job_output.job)} & sources
        reads_itself = bool(lineage.read_datasets) or any(map(jobs.has_reported_source, own))
        if (own and not reads_itself) or not all(map(newest_jobs.reads_any_dataset, every)):
            unfollowed.add(number)
    return DatasetsThroughJobs(through, frozenset(unfollowed))


class _JobReads:
    """The datasets that jobs read, according to some of their edge sets.

    To find the datasets that a job reads, pass the edge sets of all executions, because rows from older executions may
    remain. To find out whether a job reports the datasets that it reads, pass only the edge sets of newest executions.
    of_job: maps job keys to the numbers of these edge sets.
    """

    def __init__(
        self,
        graph: Graph,
        of_job: Mapping[Name, Set[int]],
        key_as_sent: Callable[[Name], Name],
        name_of: Callable[[Name], Name],
    ):
        self._graph = graph
        self._key_as_sent = key_as_sent
        self._numbers: dict[Name, set[int]] = {}
        for key, numbers in of_job.items():
            if any(graph.edge_sets[number][0].has_job for number in numbers):
                for name in {key, name_of(key)}:
                    self._numbers.setdefault(name, set()).update(numbers)
        self._reads: dict[Name, frozenset[Name]] = {}
        self._feeds: dict[Name, list[JobFeed]] = {}
        for number in graph.job_feeds:
            for feed in graph.edge_sets[number][1].job_feeds:
                self._feeds.setdefault(key_as_sent(feed.job), []).append(feed)

    def with_source_jobs(self, jobs: Iterable[Name]) -> set[Name]:
        """Return the given jobs and all jobs that feed them, directly or through other jobs."""
        found: set[Name] = set()
        todo = list(jobs)
        while todo:
            job = todo.pop()
            if job not in found:
                found.add(job)
                named = chain.from_iterable(
                    self._graph.edge_sets[number][1].source_jobs for number in self._edge_sets_of(job)
                )
                fed = chain.from_iterable(feed.source_jobs for feed in self._feeds.get(job, ()))
                todo += map(self._key_as_sent, (*named, *fed))
        return found

    def datasets_read_by(self, job: Name) -> frozenset[Name]:
        """Return the datasets that a job itself reads."""
        found = self._reads.get(job)
        if found is None:
            own = chain.from_iterable(
                self._graph.edge_sets[number][1].read_datasets for number in self._edge_sets_of(job)
            )
            fed = chain.from_iterable(feed.source_datasets for feed in self._feeds.get(job, ()))
            found = self._reads[job] = frozenset((*own, *fed))
        return found

    def reads_any_dataset(self, job: Name) -> bool:
        """Tell whether a job, or another job that feeds it, reads a dataset."""
        return any(map(self.datasets_read_by, self.with_source_jobs([job])))

    def has_reported_source(self, job: Name) -> bool:
        """Tell whether an event reports a dataset that feeds a job (rule 4.13)."""
        return any(feed.source_datasets for feed in self._feeds.get(job, ()))

    def _edge_sets_of(self, job: Name) -> set[int]:
        return self._numbers.get(job, set())
