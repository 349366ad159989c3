"""Rule 4.12: follow jobs that lineage names as sources to the datasets that they read."""

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import chain
from typing import NamedTuple

from headwater.lineage.edges.run_edges import JobFeed
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.traversal.column_graph import Graph


class FollowedJobs(NamedTuple):
    """The datasets that feed edge sets through jobs.

    through: by edge set, the datasets that its source jobs read; unfollowed: edge sets with a source job for which no
    newest execution reports a dataset that it reads, or whose own job is a source and whose run reports none.
    """

    through: dict[int, frozenset[Name]]
    unfollowed: frozenset[int]


def followed_jobs(
    graph: Graph,
    is_newest: Callable[[int], bool],
    key_as_sent: Callable[[Name], Name],
    name_of: Callable[[Name], Name],
) -> FollowedJobs:
    """Follow the source jobs of all edge sets, also through other jobs.

    is_newest: tells whether an edge set is of the newest execution of its job and output, or a declaration in force.
    key_as_sent: returns the key of a job from its name as sent; name_of: returns the name of a job from its key, which
    may be the id of an artifact.
    """
    if not graph.fed_by_jobs:  # no edge set has a job as a source
        return FollowedJobs({}, frozenset())
    jobs = _Jobs(graph, graph.of_job, key_as_sent, name_of)
    newest = {key: set(filter(is_newest, numbers)) for key, numbers in graph.of_job.items()}
    newest_jobs = _Jobs(graph, newest, key_as_sent, name_of)
    through: dict[int, frozenset[Name]] = {}
    unfollowed = set()
    for number in graph.fed_by_jobs:
        job_output, lineage = graph.sets[number]
        sources = set(map(key_as_sent, lineage.jobs))
        every = jobs.behind(sources)
        found = frozenset().union(*map(jobs.reads, every))
        if found:
            through[number] = found
        own = {job_output.job, name_of(job_output.job)} & sources
        reads_itself = bool(lineage.reads) or any(map(jobs.is_fed, own))
        if (own and not reads_itself) or not all(map(newest_jobs.leads_to_a_dataset, every)):
            unfollowed.add(number)
    return FollowedJobs(through, frozenset(unfollowed))


class _Jobs:
    """The datasets that jobs read in some edge sets of theirs.

    All executions count for what a job reads, because rows that an older one wrote may still be there. That a job
    reports what it reads follows from its newest executions only: an older one shows nothing about these.
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
            if any(graph.sets[number][0].has_job for number in numbers):
                for name in {key, name_of(key)}:
                    self._numbers.setdefault(name, set()).update(numbers)
        self._reads: dict[Name, frozenset[Name]] = {}
        self._feeds: dict[Name, list[JobFeed]] = {}
        for number in graph.feeding:
            for feed in graph.sets[number][1].feeds:
                self._feeds.setdefault(key_as_sent(feed.job), []).append(feed)

    def behind(self, jobs: Iterable[Name]) -> set[Name]:
        """Return jobs with all jobs that feed them, directly or through other jobs."""
        found: set[Name] = set()
        todo = list(jobs)
        while todo:
            job = todo.pop()
            if job not in found:
                found.add(job)
                named = chain.from_iterable(self._graph.sets[number][1].jobs for number in self._of(job))
                fed = chain.from_iterable(feed.jobs for feed in self._feeds.get(job, ()))
                todo += map(self._key_as_sent, (*named, *fed))
        return found

    def reads(self, job: Name) -> frozenset[Name]:
        """Return the datasets that a job itself reads."""
        found = self._reads.get(job)
        if found is None:
            own = chain.from_iterable(self._graph.sets[number][1].reads for number in self._of(job))
            fed = chain.from_iterable(feed.datasets for feed in self._feeds.get(job, ()))
            found = self._reads[job] = frozenset((*own, *fed))
        return found

    def leads_to_a_dataset(self, job: Name) -> bool:
        """Tell whether a job, or one that feeds it, reads a dataset."""
        return any(map(self.reads, self.behind([job])))

    def is_fed(self, job: Name) -> bool:
        """Tell whether an event reports a dataset that feeds a job (rule 4.13)."""
        return any(feed.datasets for feed in self._feeds.get(job, ()))

    def _of(self, job: Name) -> set[int]:
        return self._numbers.get(job, set())
