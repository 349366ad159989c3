"""What runs reported about a dataset over time: rows, columns, results of tests, and durations."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headwater.events.statistics_facets import WRITTEN, Kind
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.assertions import RESULTS
from headwater.index.stored.database import question_marks
from headwater.index.stored.measures import DAY_US, MAX_DAYS, RECENT_ROWS, StoredNumbers, numbers_from
from headwater.index.stored.runs import HAS_COMPLETED
from headwater.lineage.edges.candidates import LINEAGE_WEIGHTS
from headwater.lineage.names.dataset_name import Name

_ROWS = (
    f"SELECT s.time_us, s.run, CASE WHEN {HAS_COMPLETED} THEN 'COMPLETE' ELSE r.state END, s.value, r.job_key "
    "FROM measures s LEFT JOIN runs r ON r.run = s.run "
    "WHERE s.name = ? AND s.kind = ? AND s.time_us > ? AND s.time_us <= ? ORDER BY s.time_us DESC LIMIT ?"
)
_OLDEST = "SELECT min(time_us) FROM measures WHERE name = ? AND kind = ?"
_CHECKSUM = 1_000_003
_COMPLETED_BEFORE = (
    f"SELECT count(*), coalesce(sum(s.time_us % {_CHECKSUM}), 0) FROM measures s JOIN runs r ON r.run = s.run "
    f"WHERE s.name = ? AND s.kind = ? AND s.time_us < ? AND {HAS_COMPLETED}"
)
_TESTS = (
    "SELECT a.test, a.tested_column, a.id FROM assertions a WHERE a.id IN "
    "(SELECT DISTINCT assertion FROM assertion_results WHERE name IN ({})) ORDER BY a.test, a.tested_column"
)
_RESULTS = (
    "SELECT event_order, time_us, run, success FROM assertion_results WHERE name = ? AND assertion = ? "
    "AND time_us <= ? ORDER BY event_order DESC LIMIT ?"
)
_DURATIONS = (
    "SELECT c.time_us, r.run, r.state, r.started_us, r.ended_us FROM candidates c JOIN runs r ON r.run = c.run "
    "WHERE c.job_output = ? AND c.weight = ? AND c.time_us <= ? ORDER BY c.time_us DESC LIMIT ?"
)
_MAX_TESTS = 1_000
"""The maximum number of tests of a dataset whose results are read, the first ones by name."""


class ReportedNumbers(NamedTuple):
    """What a run reported about a dataset.

    time_us: the time of its newest event with numbers (us, UTC). run: its number. state: COMPLETE, or the state of a
    run that has not completed; None for an unknown run. job: the number of its job key, if it is known.
    """

    time_us: int
    run: int
    state: str | None
    numbers: StoredNumbers
    job: int | None = None


class TestResult(NamedTuple):
    """A result of a test. run: the number of the run."""

    time_us: int
    run: int
    success: bool


class MeasuredTest(NamedTuple):
    """A test with its newest results, oldest first. column: "" for a whole dataset."""

    test: str
    column: str
    results: list[TestResult]


class WriteDuration(NamedTuple):
    """A write of a dataset: the end and the duration of its run (us), and the number of the run."""

    time_us: int
    run: int
    state: str
    duration_us: int


class DatasetMeasures:
    """Reads the series of datasets in one generation of the index at a moment."""

    def __init__(self, live: LiveGraph, now_us: int):
        """Read from `live`, which must not be refreshed while this object is in use. now_us: the moment (us, UTC)."""
        self._live, self._sql, self._now_us = live, live.sql, now_us

    def names_of(self, dataset: Name) -> list[int]:
        """Return the numbers of the names under which events name a dataset."""
        live = self._live
        found = {
            live.names.find_number(name)
            for name in live.naming.names_of(dataset)
            if live.resolve(name).without_generation == dataset.without_generation
        }
        return sorted(number for number in found if number is not None)

    def ends_us(self, dataset: Name) -> list[int]:
        """Return the times (us) up to now at which a dataset was dropped or replaced by a rename, oldest first."""
        ends = self._live.naming.generations.generation_ends(dataset.without_generation)
        return [time_us for time_us, _ in ends if time_us <= self._now_us]

    def reported(
        self, names: Sequence[int], kind: Kind, *, after_us: int = -1, until_us: int | None = None,
        limit: int | None = None,
    ) -> list[ReportedNumbers]:  # fmt: skip
        """Return what runs reported, oldest first, for each run its newest numbers.

        names: the result of `names_of`. after_us, until_us: only numbers after the first and up to the second time
        (us). limit: only so many of the newest; None for all.
        """
        until = self._now_us if until_us is None else min(until_us, self._now_us)
        most = -1 if limit is None else limit
        rows = [row for name in names for row in self._sql.execute(_ROWS, (name, kind, after_us, until, most))]
        rows.sort(key=lambda row: row[:2], reverse=True)
        newest: dict[int, ReportedNumbers] = {}
        for time_us, run, state, value, job in rows:
            if run not in newest:
                newest[run] = ReportedNumbers(time_us, run, state, numbers_from(value), job)
        found = list(newest.values())[: None if limit is None else limit]
        return down_sample(found, kind)[::-1]

    def oldest_us(self, names: Iterable[int], kind: Kind = WRITTEN) -> int | None:
        """Return the time (us) of the oldest numbers of a dataset, None without any."""
        found = (self._sql.execute(_OLDEST, (name, kind)).fetchone()[0] for name in names)
        return min((time_us for time_us in found if time_us is not None), default=None)

    def completed_before(self, names: Iterable[int], kind: Kind, time_us: int) -> tuple[int, int]:
        """Return (number, checksum of the times) of the numbers of completed runs before a time (us)."""
        found = [self._sql.execute(_COMPLETED_BEFORE, (name, kind, time_us)).fetchone() for name in names]
        return sum(count for count, _ in found), sum(checksum for _, checksum in found)

    def test_results(self, names: Sequence[int], column: str | None) -> tuple[list[MeasuredTest], int]:
        """Return (tests with their newest results, sorted by test and column, number of further tests).

        column: only tests of this column, without regard to case; None for all.
        """
        tests = self._sql.execute(_TESTS.format(question_marks(names)), names).fetchall()
        if column is not None:
            tests = [each for each in tests if each[1].casefold() == column.casefold()]
        read = [(test, tested, self._results(names, number)) for test, tested, number in tests[:_MAX_TESTS]]
        found = [MeasuredTest(*each) for each in read if each[2]]
        return found, len(tests) - len(read)

    def _results(self, names: Sequence[int], assertion: int) -> list[TestResult]:
        rows = [row for name in names for row in self._sql.execute(_RESULTS, (name, assertion, self._now_us, RESULTS))]
        rows.sort(reverse=True)
        return [TestResult(time_us, run, bool(success)) for _, time_us, run, success in rows[:RESULTS]][::-1]

    def durations(self, job_outputs: Sequence[tuple[int, int]], limit: int) -> list[WriteDuration]:
        """Return the newest writes, oldest first. job_outputs: as `WriteTimes.job_outputs_of` returns them."""
        rows = {
            row
            for number, _ in job_outputs
            for weight in LINEAGE_WEIGHTS
            for row in self._sql.execute(_DURATIONS, (number, weight, self._now_us, limit))
        }
        found = [
            WriteDuration(time_us, run, state, max(0, (time_us if ended_us is None else ended_us) - started_us))
            for time_us, run, state, started_us, ended_us in sorted(rows, key=lambda row: row[:2])
            if started_us is not None
        ]
        return found[-limit:]


def time_checksum(time_us: int) -> int:
    """Return what the numbers of a completed run at a time (us) add to the checksum of `completed_before`."""
    return time_us % _CHECKSUM


def down_sample(reported: list[ReportedNumbers], kind: Kind) -> list[ReportedNumbers]:
    """Return the points that a series shows: the newest ones, and before them the last one of each day (UTC).

    reported: newest first. The index deletes the others from time to time, so this makes answers independent of when.
    """
    recent = RECENT_ROWS[kind]
    if len(reported) <= recent:
        return reported
    first_day = reported[0].time_us // DAY_US - MAX_DAYS
    last_day, found = reported[recent - 1].time_us // DAY_US, reported[:recent]
    for each in reported[recent:]:
        day = each.time_us // DAY_US
        if first_day <= day < last_day:
            found.append(each)
            last_day = day
    return found
