"""A cache of changes in a period. Only datasets and jobs with new events are computed again.

Changes of a dataset or job depend only on events about its names, so they stay valid without new events.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from headwater.index.reading.change_history import ChangedEntities, ChangeHistory, changed_since, job_names
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_history import Span
from headwater.lineage.names.dataset_name import Name
from headwater.questions.found_changes import (
    Difference,
    dataset_differences,
    deleted_jobs,
    job_differences,
    new_jobs,
)

_MAX_PERIODS, _MAX_ROWS = 4, 100_000
"""Maximum number of cached periods, and of all their differences together (about 50 MB)."""


def cached_changes(live: LiveGraph, between: tuple[int, int]) -> Sequence[Difference]:
    """Return all changes after one moment and up to another (us, UTC), unsorted."""
    cache: dict[tuple[int, int], _Period] = live.across_generations("changes", dict)
    period = cache.pop(between, None) or _Period(between)
    found = period.update(live)
    cache[between] = period
    while len(cache) > _MAX_PERIODS or (cache and sum(each.rows for each in cache.values()) > _MAX_ROWS):
        del cache[next(iter(cache))]  # least recently used
    return found


class _Period:
    """The cached changes of one period."""

    def __init__(self, between: tuple[int, int]) -> None:
        self.rows = 0
        self._between = between
        self._generation = 0
        self._clear()

    def _clear(self) -> None:
        self._datasets: dict[Name, list[Difference]] = {}
        self._new_jobs: dict[Name, Difference] = {}
        self._jobs: dict[Name, list[Difference]] = {}

    def update(self, live: LiveGraph) -> list[Difference]:
        """Process new events and return all changes. live: locked to one generation."""
        touched = changed_since(live, self._generation)
        if touched is None or live.api_generation > self._generation:
            self._clear()
            self._compute(live, None)
        elif touched.datasets or touched.jobs:
            self._compute(live, touched)
        self._generation = live.generation
        new = {each.name for each in self._new_jobs.values()}
        job_changes = (
            each for each in chain.from_iterable(self._jobs.values()) if each.thing == "owner" or each.name not in new
        )
        deleted = deleted_jobs(ChangeHistory(live, *self._between))
        found = [*chain.from_iterable(self._datasets.values()), *self._new_jobs.values(), *deleted, *job_changes]
        self.rows = len(found)
        return found

    def _compute(self, live: LiveGraph, touched: ChangedEntities | None) -> None:
        """Compute the changes of touched datasets and jobs, None for all."""
        datasets = jobs = None
        if touched is not None:
            datasets, jobs = _datasets_of(live, touched.datasets), job_names(live, touched.jobs)
            for name in datasets:
                self._datasets.pop(name, None)
            for name in jobs:
                self._new_jobs.pop(name, None)
                self._jobs.pop(name, None)
            touched = ChangedEntities(_numbers(live, live.naming.names_of_any(datasets)), _numbers(live, jobs))
        history = ChangeHistory(live, *self._between, of=touched)
        for each in dataset_differences(live, history):
            if datasets is None or each.name in datasets:
                self._datasets.setdefault(each.name, []).append(each)
        self._new_jobs.update(new_jobs(live, history))
        for each in job_differences(history):
            self._jobs.setdefault(each.name, []).append(each)


def _datasets_of(live: LiveGraph, numbers: Iterable[int]) -> set[Name]:
    """Return all datasets, without generations, that the given names may mean at any time."""
    naming, found = live.naming, set[Name]()
    for name in map(live.names.name, numbers):
        locations = (location for _, location in naming.bindings.get(name, ()))
        found.update(each.plain for each in (name, *locations, *naming.datasets_in(Span(name))))
    return found


def _numbers(live: LiveGraph, names: Iterable[Name]) -> set[int]:
    return {number for number in map(live.names.known, names) if number}
