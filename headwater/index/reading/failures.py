"""Failed and lost runs with the runs that end their spells, and results of data quality tests.

Queries start from SQL indexes of failures, so their cost depends on the number of failures, not on the history.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from headwater.events.error_facets import FailureError, failure_error
from headwater.index.api_changes import NAMESPACE
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.assertions import AssertionDetail, detail_from
from headwater.index.stored.database import json_array
from headwater.index.stored.run_facets import recent_facets
from headwater.index.stored.runs import HAS_COMPLETED
from headwater.index.stored.versions import run_datasets_from
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.lost_runs import LOST_AFTER_US, lost_run_condition

_MAX_ROWS = 10_000
"""The maximum number of runs of one job, or of children of one run, that are read."""

_FAILED = "state IN ('FAIL', 'ABORT')"
_COLUMNS = (
    "(SELECT key FROM run_keys WHERE id = r.run), r.run, r.job_key, r.state, r.started_us, r.ended_us, r.time_us, "
    "r.execution, r.parent, r.completed"
)
_FAILED_JOBS = (
    "SELECT f.job_key FROM (SELECT job_key, max(time_us) AS last_us FROM runs "
    f"WHERE {_FAILED} AND time_us <= ?2 GROUP BY job_key) f WHERE f.last_us > ?1 OR NOT EXISTS ("
    "SELECT 1 FROM runs r WHERE r.job_key = f.job_key AND r.time_us > f.last_us AND r.time_us <= ?1 "
    f"AND {HAS_COMPLETED})"
)
"""Selects the jobs with a failed run whose spell had not ended before ?1."""

_COMPLETED = f"SELECT 1 FROM runs c WHERE c.job_key = r.job_key AND {HAS_COMPLETED} AND c.time_us {{}} LIMIT 1"
_LOST = (
    f"SELECT {_COLUMNS} FROM runs r "
    f"WHERE {lost_run_condition('r.time_us', '?1', table='r')} AND EXISTS ({_COMPLETED.format('< r.time_us')}) "
    f"AND NOT EXISTS ({_COMPLETED.format(f'BETWEEN r.time_us AND r.time_us + {LOST_AFTER_US}')})"
)
"""Selects the lost runs of jobs that completed before, unless the job completed again before the run was lost."""


class RunRow(NamedTuple):
    """A run of a job.

    key: the key of the run. run, job, execution, parent: numbers. is_lost: it never ended. at_us: when it ended, or
    when it was lost (us, UTC).
    """

    key: str
    run: int
    job: int
    is_failed: bool
    is_lost: bool
    is_completed: bool
    started_us: int
    at_us: int
    execution: int | None
    parent: int | None

    @property
    def ended_us(self) -> int:
        """When it ended (us, UTC); for a lost run, the time of its last event."""
        return self.at_us - LOST_AFTER_US if self.is_lost else self.at_us


class FailedTest(NamedTuple):
    """A spell of failed results of a test.

    dataset, test, column: what is tested; column is "" for a whole dataset. run, opened_us: the first failed result.
    runs: the numbers of the runs with failed results. resolved_us: the next passing result, None if there is none.
    detail: of the newest failed result.
    """

    dataset: Name
    test: str
    column: str
    run: int
    opened_us: int
    resolved_us: int | None
    runs: frozenset[int]
    detail: AssertionDetail


def is_warning(detail: AssertionDetail) -> bool:
    """Return whether a failed test only warns."""
    return (detail.severity or "").casefold() == "warn"


class Failures:
    """Failures in one generation of the index at a moment. Jobs and runs are identified by their numbers."""

    def __init__(self, live: LiveGraph, since_us: int, now_us: int):
        """Read from `live`, which must not be refreshed while this object is in use.

        since_us: failures that ended before are left out. now_us: the moment (us, UTC). Later events do not count.
        """
        self._live, self._sql = live, live.sql
        self.since_us, self.now_us = since_us, now_us

    def runs_of_failed_jobs(self) -> Iterator[list[RunRow]]:
        """Yield the failed, lost and completed runs of each job with failures, oldest first.

        The first one is the first failed run of a spell that had not ended before `since_us`, or a later one.
        """
        lost: dict[int, list[RunRow]] = {}
        for row in map(_run_from_row, self._sql.execute(_LOST, (self.now_us,))):
            lost.setdefault(row.job, []).append(row)
        jobs = {job for (job,) in self._sql.execute(_FAILED_JOBS, (self.since_us, self.now_us))} | lost.keys()
        for job in sorted(jobs):
            if self._live.names.name(job).namespace == NAMESPACE:
                continue
            before = self._sql.execute(
                f"SELECT time_us FROM runs WHERE job_key = ? AND {HAS_COMPLETED} AND time_us <= ? "
                "ORDER BY time_us DESC LIMIT 1",
                (job, self.since_us),
            ).fetchone()
            rows = self._sql.execute(
                f"SELECT {_COLUMNS} FROM runs r WHERE job_key = ? AND kind = 'RUN' AND time_us > ? AND time_us <= ? "
                f"AND (completed OR {_FAILED}) ORDER BY time_us LIMIT {_MAX_ROWS}",
                (job, before[0] if before else -1, self.now_us),
            )
            yield sorted([*map(_run_from_row, rows), *lost.get(job, ())], key=lambda run: (run.at_us, run.key))

    def failed_runs_below(self, run: int) -> list[RunRow]:
        """Return the failed runs whose parent or execution is a run."""
        rows = self._sql.execute(
            f"SELECT {_COLUMNS} FROM (SELECT * FROM runs WHERE parent = ?1 UNION "
            f"SELECT * FROM runs WHERE execution = ?1 AND execution <> run) r WHERE {_FAILED} AND run <> ?1 "
            f"LIMIT {_MAX_ROWS}",
            (run,),
        )
        return [_run_from_row(row) for row in rows]

    def recovered_us(self, row: RunRow) -> int | None:
        """Return when the job of a failed run completed next (us), or None if it has not."""
        found: tuple[int | None] = self._sql.execute(
            f"SELECT min(time_us) FROM runs WHERE job_key = ? AND {HAS_COMPLETED} AND time_us > ? AND time_us <= ?",
            (row.job, row.at_us, self.now_us),
        ).fetchone()
        return found[0]

    def errors(self, keys: Collection[str]) -> dict[str, FailureError]:
        """Return the errors in the facets of runs, by run key. Only the newest runs of each job have facets."""
        facets = recent_facets(self._sql, [*keys])
        return {key: error for key, each in facets.items() if (error := failure_error(each))}

    def facet_of_run(self, key: str, facet: str) -> bytes | None:
        """Return the text of a facet of a run, or None if the index does not contain it. key: the key of the run."""
        return recent_facets(self._sql, [key]).get(key, {}).get(facet)

    def datasets_of_run(self, run: int) -> tuple[set[Name], set[Name]]:
        """Return (inputs, outputs) that the events of a run name."""
        row = self._sql.execute("SELECT datasets FROM runs WHERE run = ?", (run,)).fetchone()
        if not row or not row[0]:
            return set(), set()
        found, name = run_datasets_from(row[0]), self._live.names.name
        inputs, outputs = found.inputs, (number for number, _ in found.outputs)
        resolve = self._live.resolve
        return {resolve(name(each)).without_generation for each in inputs}, {
            resolve(name(each)).without_generation for each in outputs
        }

    def runs_with_failed_tests(self, runs: Collection[int]) -> set[int]:
        """Return the numbers in `runs` of runs with a failed test, except tests that only warn."""
        query = (
            "SELECT run, detail FROM assertion_results WHERE NOT success AND run IN (SELECT value FROM json_each(?))"
        )
        rows = self._sql.execute(query, (json_array(runs),))
        return {run for run, detail in rows if not is_warning(detail_from(detail))}

    def failed_tests(self) -> Iterator[FailedTest]:
        """Yield the spells of failed results that had not ended before `since_us`."""
        candidates = self._sql.execute(
            "SELECT f.name, f.assertion FROM (SELECT name, assertion, max(time_us) AS last_us FROM assertion_results "
            "WHERE NOT success AND time_us <= ?2 GROUP BY name, assertion) f WHERE f.last_us > ?1 OR NOT EXISTS ("
            "SELECT 1 FROM assertion_results r WHERE r.name = f.name AND r.assertion = f.assertion AND r.success "
            "AND r.time_us > f.last_us AND r.time_us <= ?1)",
            (self.since_us, self.now_us),
        ).fetchall()
        for name, assertion in candidates:
            test, column = self._sql.execute(
                "SELECT test, tested_column FROM assertions WHERE id = ?", (assertion,)
            ).fetchone()
            rows = self._sql.execute(
                "SELECT run, time_us, success, detail FROM assertion_results WHERE name = ? AND assertion = ? "
                "AND time_us <= ? ORDER BY event_order",
                (name, assertion, self.now_us),
            ).fetchall()
            dataset = self._live.resolve(self._live.names.name(name)).without_generation
            for spell in _test_spells(rows):
                if spell.resolved_us is None or spell.resolved_us > self.since_us:
                    yield spell._replace(dataset=dataset, test=test, column=column)


def _run_from_row(row: tuple[str, int, int, str, int | None, int | None, int, int | None, int | None, int]) -> RunRow:
    key, run, job, state, started_us, ended_us, time_us, execution, parent, completed = row
    failed, lost = state in ("FAIL", "ABORT"), state == "RUNNING" and not completed
    at_us = time_us + LOST_AFTER_US if lost else time_us if ended_us is None else min(ended_us, time_us)
    began_us = time_us if started_us is None else min(started_us, time_us)
    return RunRow(key, run, job, failed or lost, lost, not failed and not lost, began_us, at_us, execution, parent)


def _test_spells(rows: list[tuple[int, int, int, bytes | None]]) -> Iterator[FailedTest]:
    """Yield the spells in the results of a test, without its names.

    rows: (run, time, success, detail), oldest first.
    """
    spell: list[tuple[int, int, int, bytes | None]] = []
    for row in (*rows, None):
        if row is not None and not row[2]:
            spell.append(row)
        elif spell:
            first, last = spell[0], spell[-1]
            detail = detail_from(last[3]) if last[3] else AssertionDetail(None, None, None, None)
            ended_us = None if row is None else row[1]
            runs = frozenset(run for run, *_ in spell)
            yield FailedTest(Name("", ""), "", "", first[0], first[1], ended_us, runs, detail)
            spell = []
