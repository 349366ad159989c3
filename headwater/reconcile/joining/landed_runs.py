"""Runs as they landed, found by what others call them, by their parents, by their names and times."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from headwater.events.times import parse_time
from headwater.questions.answers.report_answers import ReportedRun

SPARK = "/integration/spark"
"""In the producer of Spark's listener."""


class LandedRun(NamedTuple):
    """A run, its times in us; until_us: its end, without one its newest event."""

    said: ReportedRun
    started_us: int
    until_us: int
    last_us: int

    @property
    def has_ended(self) -> bool:
        """Tell whether it said so."""
        return self.said.ended is not None

    @property
    def statement(self) -> str | None:
        """What a run of Spark's listener says it does: merge, update, delete or write; None of other runs."""
        if SPARK not in self.said.producer:
            return None
        match = re.search(r"execute_(merge|update|delete)", self.said.job.name)
        return match[1] if match else "write"


def landed(run: ReportedRun) -> LandedRun:
    """Return a run with its times as numbers."""
    started, last = _us(run.started), _us(run.last_event)
    return LandedRun(run, started, _us(run.ended) if run.ended else last, last)


def plain(name: str) -> str:
    """Return a job's name as the listener writes that of an application: lower case, `_` for all that is no letter."""
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()


class LandedRuns:
    """All runs that landed."""

    def __init__(self, runs: Iterable[ReportedRun]) -> None:
        """Sort nothing yet."""
        self.all: Sequence[LandedRun] = [landed(run) for run in runs]

    def called(self, ids: Iterable[str]) -> dict[str, LandedRun]:
        """Return the runs that have one of these ids, or name it, and all below them in the chain of parents."""
        open_ids = list(ids)
        found: dict[str, LandedRun] = {}
        while open_ids:
            for run in self._by_id.get(open_ids.pop(), ()):
                if run.said.id not in found:
                    found[run.said.id] = run
                    open_ids.append(run.said.id)
        return found

    def named(self, name: str, from_us: int, to_us: int) -> dict[str, LandedRun]:
        """Return the runs of a job, or of an application's statements, that name no execution and overlap a time."""
        runs = self._by_name.get(plain(name), [])
        end = bisect_right(runs, to_us, key=lambda run: run.started_us)
        return {run.said.id: run for run in runs[:end] if run.until_us >= from_us}

    @cached_property
    def _by_id(self) -> dict[str, list[LandedRun]]:
        found: dict[str, list[LandedRun]] = defaultdict(list)
        for run in self.all:
            parents = [run.said.parent] if run.said.parent else []
            for name in {run.said.id, *run.said.ids, *parents}:
                found[name].append(run)
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[LandedRun]]:
        found: dict[str, list[LandedRun]] = defaultdict(list)
        for run in self.all:
            if not run.said.ids:
                whole, first = run.said.job.name, run.said.job.name.partition(".")[0]
                for name in {plain(whole), plain(first)}:
                    found[name].append(run)
        for runs in found.values():
            runs.sort(key=lambda run: run.started_us)
        return found


def _us(text: str) -> int:
    return parse_time(text)[0] or 0
