"""When datasets were written and jobs ran. All queries use SQL indexes, so their cost is independent of the history."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from headwater.events.error_facets import failure_reason
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import JOB, json_array, question_marks
from headwater.index.stored.run_facets import recent_facets
from headwater.index.stored.versions import run_datasets_from
from headwater.lineage.edges.candidates import LINEAGE_WEIGHTS
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.runs.lost_runs import lost_run_condition

SCAN_LIMIT = 60
"""The maximum number of the newest writes of each job output, or of the newest runs of a job, that are read."""

_MOST = 1_000
"""The maximum number of datasets of a run, or of jobs of a dataset, that are read."""

_MAX_LEVELS = 16
"""The maximum number of jobs above a job that are read."""

_NEWEST = (
    "SELECT time_us, execution, run FROM candidates WHERE job_output = ? AND weight = ? AND time_us <= ? "
    f"ORDER BY time_us DESC LIMIT {SCAN_LIMIT}"
)
_LAST = "SELECT max(time_us) FROM candidates WHERE job_output = ? AND weight = ? AND time_us <= ?"
_FIRST_AFTER = (
    "SELECT min(time_us) FROM candidates WHERE job_output = ? AND weight = ? AND time_us > ? AND started_us >= ? "
    "AND time_us <= ?"
)
_FIRST = "SELECT min(time_us) FROM candidates WHERE job_output = ? AND weight = ?"
_RUNS = (
    "SELECT r.time_us, r.execution, r.run, r.completed FROM runs r "
    "WHERE r.job_key = ? AND r.kind = 'RUN' AND r.time_us <= ? ORDER BY r.time_us DESC LIMIT ?"
)


_ATTEMPTS = (
    f"SELECT run, job_key, CASE WHEN {lost_run_condition('time_us', '?2')} THEN 'LOST' ELSE state END, time_us, "
    "datasets FROM runs "
    "WHERE job_key = ?1 AND kind = 'RUN' AND time_us <= ?2 ORDER BY time_us DESC LIMIT ?3"
)
_STATE = (
    f"SELECT run, job_key, CASE WHEN {lost_run_condition('time_us', '?2')} THEN 'LOST' ELSE state END, time_us "
    "FROM runs"
)


class NewestRun(NamedTuple):
    """A run: its number, its job's key number, its state including LOST, and the time of its newest event (us, UTC)."""

    run: int
    job: int
    state: str
    time_us: int

    @property
    def has_failed(self) -> bool:
        """Return whether the run failed, was aborted or is lost."""
        return self.state in ("FAIL", "ABORT", "LOST")


class TimedWrite(NamedTuple):
    """A write or a completed run: its time (us, UTC), and the numbers of its execution, run and job key."""

    time_us: int
    execution: int
    run: int
    job: int


class WriteTimes:
    """Times of writes and runs in one generation of the index. Jobs and runs are identified by their numbers."""

    def __init__(self, live: LiveGraph, now_us: int):
        """Read from `live`, which must not be refreshed while this object is in use.

        now_us: the current time (us, UTC). Runs and writes with later times do not count yet.
        """
        self._live, self._sql, self._now = live, live.sql, now_us

    def job_outputs_of(self, dataset: Name) -> list[tuple[int, int]]:
        """Return (job output number, job key number) of the jobs that ever wrote a dataset, in any generation of it."""
        query = "SELECT id, job FROM job_outputs WHERE output = ? AND +layer = 'observed'"
        names = self._live.names
        return [
            row
            for each in names.generations(dataset)
            for row in self._sql.execute(query, (names.find_number(each) or 0,))
        ]  # fmt: skip

    def newest_writes(self, job_outputs: Sequence[tuple[int, int]]) -> list[TimedWrite]:
        """Return the newest writes of a dataset, newest first. job_outputs: the result of `job_outputs_of`."""
        found = [
            TimedWrite(row[0], row[1], row[2], job)
            for number, job in job_outputs
            for weight in LINEAGE_WEIGHTS
            for row in self._sql.execute(_NEWEST, (number, weight, self._now))
        ]
        return sorted(found, reverse=True)[:SCAN_LIMIT]

    def last_write_us(self, job_outputs: Sequence[tuple[int, int]], until_us: int) -> int | None:
        """Return when a dataset was last written up to a time (us), or None if it was not written until then."""
        return max(self._query_times(_LAST, job_outputs, until_us), default=None)

    def first_write_after(self, job_outputs: Sequence[tuple[int, int]], time_us: int, started_us: int) -> int | None:
        """Return when a dataset was first written after a time (us), or None.

        started_us: only writes by runs that began at or after this time count.
        """
        return min(self._query_times(_FIRST_AFTER, job_outputs, time_us, started_us, self._now), default=None)

    def first_write_us(self, job_outputs: Sequence[tuple[int, int]]) -> int | None:
        """Return when a dataset was first written (us, UTC), or None if it was never written."""
        return min(self._query_times(_FIRST, job_outputs), default=None)

    def _query_times(self, query: str, job_outputs: Sequence[tuple[int, int]], *values: int) -> list[int]:
        rows = (
            self._sql.execute(query, (number, weight, *values)).fetchone()
            for number, _ in job_outputs
            for weight in LINEAGE_WEIGHTS
        )
        return [time_us for (time_us,) in rows if time_us is not None]

    def newest_completed_runs(self, job: int, until_us: int | None = None, limit: int = SCAN_LIMIT) -> list[TimedWrite]:
        """Return a job's newest runs with a completed attempt, newest first.

        until_us: the latest time of a run (us), None for now. limit: the maximum number of runs that are read. Runs
        that did not complete count as well.
        """
        until = self._now if until_us is None else until_us
        rows = self._sql.execute(_RUNS, (job, until, limit))
        return [TimedWrite(time_us, of, run, job) for time_us, of, run, completed in rows if completed]

    def first_event_us(self, job: int) -> int | None:
        """Return the first event time of a job (us), or None if it is unknown."""
        row = self._sql.execute("SELECT first_us FROM entities WHERE kind = ? AND name = ?", (JOB, job)).fetchone()
        return row[0] if row else None

    def run_by_key(self, key: str) -> NewestRun | None:
        """Return a run by its key, or None if it is unknown."""
        row = self._sql.execute(
            f"{_STATE} WHERE run = (SELECT id FROM run_keys WHERE key = ?1) AND kind = 'RUN'", (key, self._now)
        ).fetchone()
        return NewestRun(*row) if row else None

    def newest_run(self, job: int) -> NewestRun | None:
        """Return the newest run of a job, or None if it has none."""
        row = self._sql.execute(
            f"{_STATE} WHERE job_key = ?1 AND kind = 'RUN' AND time_us <= ?2 ORDER BY time_us DESC LIMIT 1",
            (job, self._now),
        ).fetchone()
        return NewestRun(*row) if row else None

    def job_key_numbers(self) -> list[int]:
        """Return the key numbers of all jobs with runs."""
        return [key for (key,) in self._sql.execute("SELECT key FROM jobs WHERE state IS NOT NULL")]

    def jobs_with_runs(self, keys: Collection[int]) -> set[int]:
        """Return the numbers in `keys` of jobs that have runs. keys: numbers of job keys."""
        query = "SELECT key FROM jobs WHERE state IS NOT NULL AND key IN (SELECT value FROM json_each(?))"
        return {key for (key,) in self._sql.execute(query, (json_array(keys),))}

    def next_run_us(self) -> int:
        """Return the earliest time of a run after `now_us` (us), when this run begins to count, or MAX_TIME_US."""
        found = self._sql.execute("SELECT min(time_us) FROM runs WHERE time_us > ?", (self._now,)).fetchone()[0]
        return MAX_TIME_US if found is None else int(found)

    def job_outputs_by_dataset(self) -> dict[int, list[tuple[int, int]]]:
        """Return (job output number, job key number) of all writing jobs, by the number of the dataset generation."""
        found: dict[int, list[tuple[int, int]]] = {}
        query = "SELECT output, id, job FROM job_outputs WHERE layer = 'observed' AND output <> 0"
        for output, number, job in self._sql.execute(query):
            found.setdefault(output, []).append((number, job))
        return found

    def datasets_written_by_job(self, job: int) -> list[Name]:
        """Return the datasets that a job has ever written."""
        query = "SELECT DISTINCT output FROM job_outputs WHERE layer = 'observed' AND job = ? AND output <> 0"
        return [self._live.names.name(number) for (number,) in self._sql.execute(query, (job,))]

    def datasets_written_by_run(self, run: int) -> set[Name]:
        """Return the datasets that a run, its children and the runs of its execution wrote."""
        # CROSS JOIN starts from the run; SQLite would start from all observed outputs
        rows = self._sql.execute(
            "SELECT DISTINCT g.output FROM candidates v CROSS JOIN job_outputs g ON g.id = v.job_output "
            "WHERE g.layer = 'observed' "
            "AND g.output <> 0 AND v.run IN (SELECT ?1 UNION SELECT run FROM runs WHERE parent = ?1) UNION "
            "SELECT DISTINCT g.output FROM candidates v CROSS JOIN job_outputs g ON g.id = v.job_output "
            "WHERE g.layer = 'observed' "
            "AND g.output <> 0 AND v.execution = ?1 LIMIT ?2",
            (run, _MOST),
        )
        return {self._live.names.name(number).without_generation for (number,) in rows}

    def newest_attempts(self, dataset: Name) -> list[NewestRun]:
        """Return the newest runs that have a dataset as output, in any state, newest first.

        Reads at most 1,000 jobs, and at most `SCAN_LIMIT` runs of each job.
        """
        known = (self._live.names.find_number(name) for name in self._live.naming.names_of(dataset))
        numbers = {number for number in known if number is not None}
        jobs = self._sql.execute(
            f"SELECT DISTINCT job_key FROM uses WHERE name IN ({question_marks([*numbers])}) ORDER BY job_key LIMIT ?",
            (*numbers, _MOST),
        ).fetchall()
        found = [
            NewestRun(*run)
            for (job,) in jobs
            for *run, datasets in self._sql.execute(_ATTEMPTS, (job, self._now, SCAN_LIMIT))
            if datasets and not numbers.isdisjoint(output for output, _ in run_datasets_from(datasets).outputs)
        ]
        return sorted(found, key=lambda run: (-run.time_us, run.run))

    def is_whole_rewrite(self, run: int, job_outputs: Sequence[tuple[int, int]]) -> bool:
        """Return whether a run replaced all rows of a dataset. job_outputs: the result of `job_outputs_of`."""
        query = "SELECT rewrites FROM candidates WHERE run = ? AND job_output = ?"
        rows = (self._sql.execute(query, (run, number)).fetchone() for number, _ in job_outputs)
        return any(row is not None and row[0] for row in rows)

    def parents_and_executions(self, runs: Collection[int]) -> dict[int, list[int]]:
        """Return the numbers of each run's parent and execution, by run number."""
        query = "SELECT run, parent, execution FROM runs WHERE run IN (SELECT value FROM json_each(?))"
        rows = self._sql.execute(query, (json_array(runs),))
        return {run: [each for each in dict.fromkeys(above) if each not in (None, run)] for run, *above in rows}

    def jobs_above(self, job: int) -> list[int]:
        """Return the key numbers of the jobs that contain a job, nearest first, at most 16."""
        found = [job]
        while len(found) <= _MAX_LEVELS:
            row = self._sql.execute("SELECT parent FROM jobs WHERE key = ?", (found[-1],)).fetchone()
            if row is None or row[0] is None or row[0] in found:
                break
            found.append(row[0])
        return found[1:]

    def jobs_of_runs(self, runs: Collection[int]) -> set[int]:
        """Return the key numbers of the jobs of runs, by run number."""
        query = "SELECT DISTINCT job_key FROM runs WHERE run IN (SELECT value FROM json_each(?))"
        return {job for (job,) in self._sql.execute(query, (json_array(runs),))}

    def run_error(self, run: int) -> str | None:
        """Return a run's error as one line, from the run's facets.

        Returns None if they contain no error, or if the index no longer contains the facets of the run.
        """
        key = self.run_key(run)
        return failure_reason(recent_facets(self._sql, [key]).get(key, {}))

    def run_key(self, run: int) -> str:
        """Return the key of a run by its number."""
        return str(self._sql.execute("SELECT key FROM run_keys WHERE id = ?", (run,)).fetchone()[0])
