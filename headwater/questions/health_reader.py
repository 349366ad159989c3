"""Health of datasets and jobs: failures, lateness by rhythm, and writes since then, with a cache."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

from headwater.events.times import iso_time
from headwater.index.reading.change_history import entities_changed_since
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.write_times import NewestRun, TimedWrite, WriteTimes
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.rules.user_rules import is_never_hidden
from headwater.lineage.runs.lost_runs import LOST_AFTER_US
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.questions.answer_types.common import Dataset, Job
from headwater.questions.answer_types.health import HealthItem, HealthRun, NotRefreshed, Status
from headwater.questions.neighbourhood import TableLinks
from headwater.questions.rhythm import (
    MAX_WRITES,
    LateSpell,
    Punctuality,
    past_late_spells,
    punctuality,
    separate_writes,
)

MAX_DATASETS = 1_000
"""Maximum number of datasets upstream or downstream that are visited."""

_MAX_NAMED = 5
_SECOND = 1_000_000
_NO_RHYTHM = Punctuality("unknown", "no completed run is known to write it")
_NEVER = Punctuality("unknown", "no run is known to have completed")


class HealthState(NamedTuple):
    """The health of a dataset or job itself, without upstream problems.

    success: the newest completed write. run: the newest or failed run. since_us: start of the problem, or None;
    datasets downstream are stale until a later write. until_us: until when the state is valid if no event arrives.
    late_spells: the spells in which a write was late, oldest first, the present one included.
    """

    status: Status
    reason: str
    success: TimedWrite | None = None
    run: NewestRun | None = None
    punctuality: Punctuality = _NO_RHYTHM
    since_us: int | None = None
    until_us: int = MAX_TIME_US
    late_spells: tuple[LateSpell, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether no problem is known."""
        return self.since_us is None


class HealthReader:
    """Reads health at one moment. Create one for each answer."""

    def __init__(self, live: LiveGraph, counted: CountedEdges, now_us: int):
        """live: the caller locks it to one generation while the reader is in use. now_us: the moment (us)."""
        self.times = WriteTimes(live, now_us)
        self._live, self._counted, self.now_us = live, counted, now_us
        self._links = TableLinks(live, counted, is_never_hidden)
        self._runs: dict[int, NewestRun | None] = {}
        self._datasets: dict[Name, HealthState] = {}

    def dataset_health(self, dataset: Name) -> HealthState:
        """Return the health of a dataset itself, from its newest writes and their jobs."""
        found = self._datasets.get(dataset)
        if found is None:
            found = self._datasets[dataset] = self._read_dataset_health(dataset)
        return found

    def _read_dataset_health(self, dataset: Name) -> HealthState:
        if not self._live.exists(dataset):
            return HealthState("unknown", "it was dropped")
        outputs = self.times.job_outputs_of(dataset)
        writes = self.times.newest_writes(outputs)
        if not writes:
            return HealthState("unknown", _NO_RHYTHM.reason)
        runs = [run for job in {write.job for write in writes} if (run := self.newest_run(job))]
        return self._health_from_successes(
            writes, runs, lambda: self.times.first_write_us(outputs), lambda at: self.times.last_write_us(outputs, at)
        )

    def health_of_never_written(self, dataset: Name) -> tuple[HealthState, list[NewestRun]] | None:
        """Return (health, runs that tried to write, newest first) of a dataset that was never written.

        Returns None if a run has completed a write, or if no run is known to have tried.
        """
        if not self._live.exists(dataset) or self.dataset_health(dataset).success is not None:
            return None
        runs = self.times.newest_attempts(dataset)
        if not runs or any(run.state == "COMPLETE" for run in runs):
            return None
        newest, has_failed = runs[0], any(run.state in ("FAIL", "ABORT") for run in runs)
        reason = f"never written: none of the {len(runs)} known runs that name it as an output has completed"
        if len(runs) == 1:
            reason = "never written: the only known run that names it as an output has not completed"
        since_us = min(run.time_us for run in runs) if has_failed else None
        reason = f"{reason}, the newest is {newest.state}"
        return HealthState("failed" if has_failed else "unknown", reason, None, newest, since_us=since_us), runs

    def job_health(self, job: int) -> HealthState:
        """Return the health of a job, by the number of its key."""
        run = self.newest_run(job)
        return self._health_from_successes(
            self.times.newest_completed_runs(job), [run] if run else [], lambda: self.times.first_event_us(job),
            lambda at: next((write.time_us for write in self.times.newest_completed_runs(job, at)), None),
        )  # fmt: skip

    def newest_run(self, job: int) -> NewestRun | None:
        """Return the newest run of a job."""
        if job not in self._runs:
            self._runs[job] = self.times.newest_run(job)
        return self._runs[job]

    def _health_from_successes(
        self, successes: list[TimedWrite], runs: list[NewestRun], first_success_us: Callable[[], int | None],
        last_success_us: Callable[[int], int | None],
    ) -> HealthState:  # fmt: skip
        """Return the health of a dataset from its writes, or of a job from its completed runs."""

        def silence_at_us(at_us: int) -> int | None:
            before = last_success_us(at_us)
            return None if before is None else at_us - before

        success = successes[0] if successes else None
        newest = max(runs, key=lambda run: run.time_us, default=None)
        separate = separate_writes(successes)
        times = [write.time_us for write in separate][-MAX_WRITES:]
        first_us = (first_success_us() or times[0]) if times else 0
        found = punctuality(times, self.now_us, first_us, silence_at_us) if times else _NEVER
        spells = past_late_spells(separate, first_us, silence_at_us)
        failed = [
            run
            for run in runs
            if run.has_failed and (run.state != "LOST" if success is None else run.time_us > success.time_us)
        ]
        if failed:
            last_failed = max(failed, key=lambda run: run.time_us)
            reason = f"the newest run is {last_failed.state} and no run has completed since; {found.reason}"
            return HealthState("failed", reason, success, last_failed, found, last_failed.time_us, self.now_us, spells)
        if found.verdict == "late":
            under_way = ", a run is in progress" if newest and newest.state == "RUNNING" else ""
            if found.rhythm and found.due_us is not None:
                spells += (LateSpell(separate[-1], found.due_us, found.due_us + found.rhythm.grace_us, None),)
            reason = found.reason + under_way
            return HealthState("late", reason, success, newest, found, found.due_us, self.now_us, spells)
        verdict: Status = "ok" if found.verdict == "on time" else "unknown"
        until_us = self._valid_until_us(found, runs)
        return HealthState(verdict, found.reason, success, newest, found, until_us=until_us, late_spells=spells)

    def _valid_until_us(self, punctuality: Punctuality, runs: list[NewestRun]) -> int:
        """Return the time until which a healthy state is valid.

        At this time, the next write is late, or a running run counts as lost.
        """
        lost = (run.time_us + LOST_AFTER_US for run in runs if run.state == "RUNNING")
        until_us = min((each for each in lost if each >= self.now_us), default=MAX_TIME_US)
        if punctuality.verdict == "on time" and punctuality.rhythm and punctuality.due_us is not None:
            expected_us = punctuality.due_us + punctuality.rhythm.grace_us
            return min(until_us, expected_us) if expected_us >= self.now_us else self.now_us
        return until_us

    def connected_datasets(
        self, dataset: Name, *, forward: bool, seen: set[int] | None = None
    ) -> Iterator[tuple[Name, int]]:
        """Yield the datasets downstream or upstream with their distance, nearest first.

        forward: whether to yield datasets downstream. seen: numbers of datasets to skip; visited datasets are added. If
        `seen` is None, at most `MAX_DATASETS` are visited.
        """
        start = self._counted.lifetimes.newest_with_lineage(dataset)
        most = MAX_DATASETS if seen is None else None
        seen = set() if seen is None else seen
        if start is None:
            return
        seen.add(start)
        todo = [(start, 0)]
        for number, far in todo:  # grows during the loop
            for each in self._links.neighbours(number, forward=forward):
                if each not in seen and (most is None or len(seen) <= most):
                    seen.add(each)
                    todo.append((each, far + 1))
                    yield self._live.graph.names[each].without_generation, far + 1

    def upstream_problems(self, dataset: Name) -> list[Name]:
        """Return upstream datasets with a problem that started after the dataset was last written, nearest first."""
        success = self.dataset_health(dataset).success
        if success is None:
            return []
        return [
            name
            for name, _ in self.connected_datasets(dataset, forward=False)
            if (since := self.dataset_health(name).since_us) is not None and since > success.time_us
        ][:_MAX_NAMED]

    def downstream_not_refreshed(self, dataset: Name, since_us: int) -> Iterator[NotRefreshed]:
        """Yield the datasets downstream that were not written since a moment."""
        for name, far in self.connected_datasets(dataset, forward=True):
            last = self.times.last_write_us(self.times.job_outputs_of(name), self.now_us)
            if last is not None and last <= since_us:
                yield NotRefreshed(*name.parts, far, iso_time(last), False)

    def dataset_health_item(self, dataset: Name) -> HealthItem:
        """Return the health item of a dataset, including upstream problems."""
        state = self.dataset_health(dataset)
        return self.health_item("dataset", dataset, state, self.upstream_problems(dataset) if state.is_healthy else [])

    def health_item(
        self, kind: str, name: Name, state: HealthState, waits_for: Sequence[Name], failed_with: Sequence[Name] = ()
    ) -> HealthItem:
        """Return a health item. The reason starts with the error of the failed run."""
        status, reason, found = state.status, state.reason, state.punctuality
        run = self.run_for_answer(state.run) if state.run else None
        if status == "failed" and run and run.error:
            reason = f"{run.error}; {reason}"
        if waits_for:
            names = ", ".join(each.name for each in waits_for)
            status, reason = "stale", f"not written since {names} failed or became late; {reason}"
        return HealthItem(
            "job" if kind == "job" else "dataset", *name.parts, status, reason,
            iso_time(state.success.time_us) if state.success else None,
            self.times.run_key(state.success.run) if state.success else None,
            run,
            found.rhythm.usual_us / _SECOND if found.rhythm else None, iso_time(found.due_us),
            found.late_us / _SECOND if found.late_us is not None else None,
            [Dataset(*each.parts) for each in waits_for],
            [Job(*each.parts) for each in failed_with], None, None,
        )  # fmt: skip

    def run_for_answer(self, run: NewestRun) -> HealthRun:
        """Return a run for answers, with its error if it failed."""
        job = self._live.job_name(self._live.names.name(run.job))
        error = self.times.run_error(run.run) if run.has_failed else None
        return HealthRun(self.times.run_key(run.run), Job(*job.parts), run.state, iso_time(run.time_us), error)


_MAX_SKEW_US = 60_000_000
"""Maximum time difference (us) of concurrent requests that share the cache.

A request for an earlier moment clears the cache.
"""


class CachedHealth(NamedTuple):
    """A cached health state.

    until_us: until when the state is valid. success_us: time of the newest completed write, or None. problem: the
    complete state if there is a problem, else None. has_rhythm: whether it is known when the next write is due.
    late_spells: see `HealthState`. version: of a dataset; it differs as soon as an event has named the dataset.
    """

    until_us: int
    success_us: int | None
    problem: HealthState | None
    has_rhythm: bool
    late_spells: tuple[LateSpell, ...]
    version: int = 0


class HealthCache:
    """The cached health of all written datasets (by name) and all jobs (by number of the job key) of one index file."""

    def __init__(self) -> None:
        self.datasets: dict[Name, CachedHealth] = {}
        self.jobs: dict[int, CachedHealth] = {}
        self._due_datasets: set[Name] = set()
        self._due_jobs: set[int] = set()
        self._touched: dict[Name, int] = {}
        self._versions = count(1)
        self._generation = 0
        self._now_us = self._ahead_us = 0

    def answer_time_us(self, now_us: int) -> int:
        """Return the moment (us) for which a request is answered: the latest `now_us` of recent requests."""
        if now_us < self._now_us - _MAX_SKEW_US:
            self._now_us = self._generation = 0
        self._now_us = max(self._now_us, now_us)
        return self._now_us

    def check_due_items(self, live: LiveGraph, reader: HealthReader, max_checks: int) -> bool:
        """Check up to `max_checks` datasets and as many jobs. Return whether the whole cache is up to date.

        live: the caller locks it to the generation of the reader.
        """
        self._schedule_by_events(live, reader)
        self._schedule_by_time(reader)
        for name in list(islice(self._due_datasets, max_checks)):
            self._check_dataset(name, reader)
            self._due_datasets.discard(name)
        for job in list(islice(self._due_jobs, max_checks)):
            self.jobs[job] = _to_cached_health(reader.job_health(job))
            self._due_jobs.discard(job)
        return not (self._due_datasets or self._due_jobs)

    def _check_dataset(self, name: Name, reader: HealthReader) -> None:
        if reader.times.job_outputs_of(name):
            known = self.datasets.get(name)
            version = known.version if known else next(self._versions)
            self.datasets[name] = _to_cached_health(reader.dataset_health(name))._replace(
                version=self._touched.pop(name, version)
            )
        else:
            self.datasets.pop(name, None)
            self._touched.pop(name, None)

    def _schedule_by_events(self, live: LiveGraph, reader: HealthReader) -> None:
        """Schedule checks for items with new events, or for all items if any may have changed.

        All items may have changed if the time of an event that was in the future has passed.
        """
        touched = entities_changed_since(live, self._generation) if self._ahead_us > reader.now_us else None
        if touched is None:
            self.datasets.clear()
            self.jobs.clear()
            self._due_datasets = {
                live.names.name(number).without_generation for number in reader.times.job_outputs_by_dataset()
            }
            self._due_jobs = set(reader.times.job_key_numbers())
        else:
            named: set[Name] = set()
            for number in touched.dataset_numbers:
                name = live.names.name(number)
                named |= {name.without_generation, live.resolve(name)}
            named.update(
                name.without_generation
                for job in touched.job_key_numbers
                for name in reader.times.datasets_written_by_job(job)
            )
            self._due_datasets |= named
            self._touched.update(dict.fromkeys(named, next(self._versions)))
            self._due_jobs |= touched.job_key_numbers & reader.times.jobs_with_runs(touched.job_key_numbers)
        self._generation, self._ahead_us = live.generation, reader.times.next_run_us()

    def _schedule_by_time(self, reader: HealthReader) -> None:
        now_us = reader.now_us
        self._due_datasets.update(name for name, each in self.datasets.items() if each.until_us < now_us)
        self._due_jobs.update(job for job, each in self.jobs.items() if each.until_us < now_us)


def _to_cached_health(state: HealthState) -> CachedHealth:
    success_us = state.success.time_us if state.success else None
    problem, has_rhythm = None if state.is_healthy else state, state.punctuality.verdict != "unknown"
    return CachedHealth(state.until_us, success_us, problem, has_rhythm, state.late_spells)
