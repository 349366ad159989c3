"""A cache of health states. An item is checked again after new events, or when its state expires.

A state depends only on events and on the current time, and each state contains the time until which it is valid.
"""

from itertools import islice
from typing import NamedTuple

from headwater.index.reading.change_history import changed_since
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_name import Name
from headwater.questions.health_reader import HealthReader, HealthState

_MAX_SKEW_US = 60_000_000
"""Maximum distance of concurrent requests that use the same moment.

A request for an earlier moment clears the cache.
"""


class CachedHealth(NamedTuple):
    """A cached health state with its expiry. problem: the complete state if there is a problem, else None."""

    until_us: int
    success_us: int | None
    problem: HealthState | None


class HealthCache:
    """The cached health of all written datasets and of all jobs, by the number of their keys, for one index file."""

    def __init__(self) -> None:
        self.datasets: dict[Name, CachedHealth] = {}
        self.jobs: dict[int, CachedHealth] = {}
        self._due_datasets: set[Name] = set()
        self._due_jobs: set[int] = set()
        self._generation = 0
        self._now_us = self._ahead_us = 0

    def moment(self, now_us: int) -> int:
        """Return the moment at which a request is answered."""
        if now_us < self._now_us - _MAX_SKEW_US:
            self._now_us = self._generation = 0
        self._now_us = max(self._now_us, now_us)
        return self._now_us

    def update(self, live: LiveGraph, reader: HealthReader, most: int) -> bool:
        """Check up to `most` items; return whether all items are up to date.

        live: locked to the generation of the reader.
        """
        self._schedule_by_events(live, reader)
        self._schedule_by_time(reader)
        for name in list(islice(self._due_datasets, most)):
            self._check(name, reader)
            self._due_datasets.discard(name)
        for job in list(islice(self._due_jobs, most)):
            self.jobs[job] = _cached(reader.of_job(job))
            self._due_jobs.discard(job)
        return not (self._due_datasets or self._due_jobs)

    def _check(self, name: Name, reader: HealthReader) -> None:
        if reader.times.outputs(name):
            self.datasets[name] = _cached(reader.of_dataset(name))
        else:
            self.datasets.pop(name, None)

    def _schedule_by_events(self, live: LiveGraph, reader: HealthReader) -> None:
        """Schedule checks for items with new events, or for all items if any may have changed.

        All items may have changed when a time in the future of an event has come.
        """
        touched = changed_since(live, self._generation) if self._ahead_us > reader.now_us else None
        if touched is None:
            self.datasets.clear()
            self.jobs.clear()
            self._due_datasets = {live.names.name(number).plain for number in reader.times.all_outputs()}
            self._due_jobs = set(reader.times.jobs())
        else:
            for number in touched.datasets:
                name = live.names.name(number)
                self._due_datasets |= {name.plain, live.resolve(name)}
            self._due_datasets.update(name.plain for job in touched.jobs for name in reader.times.outputs_of_job(job))
            self._due_jobs |= touched.jobs & reader.times.with_runs(touched.jobs)
        self._generation, self._ahead_us = live.generation, reader.times.next_run_us()

    def _schedule_by_time(self, reader: HealthReader) -> None:
        now_us = reader.now_us
        self._due_datasets.update(name for name, each in self.datasets.items() if each.until_us < now_us)
        self._due_jobs.update(job for job, each in self.jobs.items() if each.until_us < now_us)


def _cached(state: HealthState) -> CachedHealth:
    return CachedHealth(
        state.until_us, state.success.time_us if state.success else None, None if state.is_healthy else state
    )
