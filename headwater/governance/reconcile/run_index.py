"""Find reported runs by id, parent, name and time."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from headwater.events.times import parse_time
from headwater.questions.answer_types.reports import ReportedRun

SPARK = "/integration/spark"
"""Text in the `producer` of events from Spark's listener."""


class TimedRun(NamedTuple):
    """A reported run with its times (us, UTC). until_us: its end, or without an end, its newest event.

    last_us: its newest event.
    """

    report: ReportedRun
    started_us: int
    until_us: int
    last_us: int

    @property
    def has_ended(self) -> bool:
        """Whether the run sent an end event."""
        return self.report.ended is not None

    @property
    def statement_type(self) -> str | None:
        """The statement type of a run of Spark's listener: merge, update, delete or write; None for other runs."""
        if SPARK not in self.report.producer:
            return None
        match = re.search(r"execute_(merge|update|delete)", self.report.job.name)
        return match[1] if match else "write"


def with_times(run: ReportedRun) -> TimedRun:
    """Convert the times of a run to numbers."""
    started, last = _parse_time_us(run.started), _parse_time_us(run.last_event)
    return TimedRun(run, started, _parse_time_us(run.ended) if run.ended else last, last)


def name_in_listener_spelling(name: str) -> str:
    """Return a job's name as Spark's listener spells application names: snake case, with `_` for special characters."""
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()


class RunIndex:
    """All reported runs, with lookups by id and by name."""

    def __init__(self, runs: Iterable[ReportedRun]) -> None:
        self.all: Sequence[TimedRun] = [with_times(run) for run in runs]

    def runs_by_ids(self, ids: Iterable[str]) -> dict[str, TimedRun]:
        """Return the runs with one of these ids in any facet, and all their child runs at any depth, by run id."""
        open_ids = list(ids)
        found: dict[str, TimedRun] = {}
        while open_ids:
            for run in self._runs_by_id.get(open_ids.pop(), ()):
                if run.report.id not in found:
                    found[run.report.id] = run
                    open_ids.append(run.report.id)
        return found

    def runs_by_name(self, name: str, from_us: int, to_us: int) -> dict[str, TimedRun]:
        """Return the runs of a job or an application in a period, by run id, except runs with ids of other systems.

        name: name of the job, or of the application, with which the job names of the application's statements start.
        """
        runs = self._runs_by_job_name.get(name_in_listener_spelling(name), [])
        end = bisect_right(runs, to_us, key=lambda run: run.started_us)
        return {run.report.id: run for run in runs[:end] if run.until_us >= from_us}

    @cached_property
    def _runs_by_id(self) -> dict[str, list[TimedRun]]:
        found: dict[str, list[TimedRun]] = defaultdict(list)
        for run in self.all:
            parents = [run.report.parent] if run.report.parent else []
            for name in {run.report.id, *run.report.ids, *parents}:
                found[name].append(run)
        return found

    @cached_property
    def _runs_by_job_name(self) -> dict[str, list[TimedRun]]:
        found: dict[str, list[TimedRun]] = defaultdict(list)
        for run in self.all:
            if not run.report.ids:
                whole, first = run.report.job.name, run.report.job.name.partition(".")[0]
                for name in {name_in_listener_spelling(whole), name_in_listener_spelling(first)}:
                    found[name].append(run)
        for runs in found.values():
            runs.sort(key=lambda run: run.started_us)
        return found


def _parse_time_us(text: str) -> int:
    return parse_time(text)[0] or 0
