"""Facts about runs that depend on other runs: a job's newest run, the state of runs without an end, nominal times."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from headwater.index.stored.database import JOB, json_array, question_marks, split_for_parameters
from headwater.index.stored.numbers import RunNumbers
from headwater.lineage.runs.lost_runs import ENDED, ended_with_parent_condition
from headwater.lineage.runs.nominal_times import RunAncestors, descendant_runs, latest_nominal_times
from headwater.lineage.runs.run_facts import RunFacts

HAS_COMPLETED = "completed AND state NOT IN ('FAIL', 'ABORT')"
"""The condition for a run in `runs` that has completed, and has not failed in a later attempt."""

NEWEST_RUN = (
    "SELECT r.run FROM runs r JOIN run_keys k ON k.id = r.run WHERE r.job_key = {} AND r.kind = 'RUN' "
    "ORDER BY r.time_us DESC, k.key DESC LIMIT 1"
)
"""SQL that selects the newest run of a job, searched among all its runs. `{}` is the number of the job's key."""

_SEARCH = f"UPDATE jobs SET newest = ({NEWEST_RUN.format('jobs.key')}) WHERE key = ? AND newest = ?"
_NEWER = (
    "UPDATE jobs SET newest = ?2 WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM runs r JOIN run_keys k ON k.id = r.run "
    "WHERE r.run = jobs.newest AND (r.time_us, k.key) > (?3, ?4))"
)
_STATE = "UPDATE jobs SET state = (SELECT state FROM runs WHERE run = jobs.newest) WHERE key = ?"


class NewestRunTable:
    """Updates the newest run of each job, which determines the job's state. `flush` writes the changes.

    A run may be added again with every batch. The newest run of a job is stored, because a search for it may have to
    sort the whole history: runs with the same time are ordered by their keys. The search is repeated only if a run
    moves to another job or turns out to be older.
    """

    def __init__(self, connection: sqlite3.Connection, numbers: RunNumbers):
        self._sql = connection
        self._numbers = numbers
        self._newest: dict[int, tuple[int, str]] = {}
        self._moved: list[tuple[int, int]] = []
        self._to_update: set[int] = set()

    def add_run(self, job: int, run: str, time_us: int, previous: tuple[int, int]) -> None:
        """Add a run of a job. job: the number of the job's key. run: the run key. time_us: the time of the run.

        previous: (job, time (us)) with which this run was last added; the job is 0 if the run was not added before.
        """
        job_before, before_us = previous
        if job_before and (job_before != job or before_us > time_us):
            self._moved.append((job_before, self._numbers[run]))
        self._newest[job] = max(self._newest.get(job, (time_us, run)), (time_us, run))

    def update_state(self, job: int) -> None:
        """Let the next `flush` update the state of a job from its newest run."""
        self._to_update.add(job)

    def flush(self) -> set[int]:
        """Write the newest runs. Call it after the runs and jobs have been written.

        Returns the key numbers of the jobs that lost a run: it moved to another job or turned out to be older.
        """
        self._sql.executemany(_SEARCH, self._moved)
        newest = [(job, self._numbers[key], time_us, key) for job, (time_us, key) in self._newest.items()]
        self._sql.executemany(_NEWER, newest)
        changed = {*self._newest, *self._to_update, *(job for job, _ in self._moved)}
        self._sql.executemany(_STATE, [(job,) for job in changed])
        moved = {job for job, _ in self._moved}
        self._newest.clear()
        self._moved.clear()
        self._to_update.clear()
        return moved


_BELOW_ENDED = (
    "SELECT r.run FROM json_each(?1) m CROSS JOIN runs r ON r.parent = m.value "
    "UNION SELECT r.run FROM json_each(?1) m CROSS JOIN runs r ON r.execution = m.value AND r.execution <> r.run"
)
_STATES = (
    "SELECT r.run, k.key, r.job_key, r.state, EXISTS (SELECT 1 FROM runs p WHERE p.run IN (r.parent, r.execution) "
    f"AND p.run <> r.run AND {ended_with_parent_condition('r', 'p')}) "
    "FROM json_each(?1) a CROSS JOIN runs r ON r.run = a.value JOIN run_keys k ON k.id = r.run "
    f"WHERE r.kind = 'RUN' AND r.state IN ('RUNNING', '{ENDED}')"
)


class ChangedRunState(NamedTuple):
    """A run whose state changed because of another run. run: the run key. job: the number of the job's key."""

    run: str
    job: int
    state: str


class OpenRunTable:
    """Finds runs that report no end and are ENDED because their parent or root run has ended (rule 1.9).

    Collects derived runs. `flush` sets the state of those without an end.
    """

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection. The caller manages its transaction."""
        self._sql = connection
        self._open: set[int] = set()
        self._moved: set[int] = set()

    def add_run(self, run: int, state: str, *, has_parent: bool, has_new_end: bool) -> None:
        """Add a run by its number.

        has_parent: the run has a parent or a root run. has_new_end: this batch added or changed the end of the run.
        """
        if has_parent and state in ("RUNNING", ENDED):
            self._open.add(run)
        if has_new_end:
            self._moved.add(run)

    def flush(self, generation: int) -> list[ChangedRunState]:
        """Write the states. Return the runs with a changed state. Call it after the runs have been written.

        generation: the number of the batch.
        """
        if self._moved:
            self._open.update(run for (run,) in self._sql.execute(_BELOW_ENDED, (json_array(sorted(self._moved)),)))
        rows = self._sql.execute(_STATES, (json_array(sorted(self._open)),)).fetchall() if self._open else []
        found = [
            (run, ChangedRunState(key, job, state))
            for run, key, job, before, has_ended in rows
            if (state := ENDED if has_ended else "RUNNING") != before
        ]
        self._sql.executemany("UPDATE runs SET state = ? WHERE run = ?", [(each.state, run) for run, each in found])
        self._sql.executemany(
            "UPDATE entities SET generation = ? WHERE kind = ? AND name = ?",
            [(generation, JOB, each.job) for _, each in found],
        )
        self._open.clear()
        self._moved.clear()
        return [each for _, each in found]


_BELOW_KEYS = (
    "SELECT c.key FROM run_keys k JOIN runs r ON r.parent = k.id JOIN run_keys c ON c.id = r.run WHERE k.key IN ({0}) "
    "UNION SELECT c.key FROM run_keys k JOIN runs r ON r.execution = k.id AND r.execution <> r.run "
    "JOIN run_keys c ON c.id = r.run WHERE k.key IN ({0})"
)


class NominalTimeTable:
    """The `nominal_times.NominalTimes` of an index file (rule 6.1). Its table is `periods`."""

    def __init__(self, connection: sqlite3.Connection, runs: RunNumbers, facts_of: Callable[[str], Sequence[RunFacts]]):
        self._sql = connection
        self._runs = runs
        self._above = RunAncestors(facts_of)
        self._any = bool(connection.execute("SELECT 1 FROM periods LIMIT 1").fetchone())
        self._times: dict[str, int | None] = {}
        self._changed: set[str] = set()

    def add(self, facts: Sequence[RunFacts]) -> None:
        """Add the nominal times of new events. Call it after the events have been stored."""
        self._above.clear_cache()
        self._times.clear()
        self._changed.clear()
        for run_key, time_us in latest_nominal_times(facts).items():
            before = self._query_nominal_us(run_key)
            if before is None or time_us > before:
                row = (self._runs[run_key], time_us)
                self._sql.execute("INSERT OR REPLACE INTO periods VALUES (?, ?)", row)
                self._times[run_key] = time_us
                self._changed.add(run_key)
        self._any = self._any or bool(self._changed)
        if self._any:
            self._changed.update(fact.run_key for fact in facts if fact.parent is not None)

    def time_us_of_run(self, run_key: str) -> int | None:
        """Return the nominal time (us, UTC) of a run, or if it has none, of its nearest ancestor or its root run.

        Returns None if none of these runs has a nominal time.
        """
        if not self._any:
            return None
        times = (self._query_nominal_us(key) for key in self._above.with_ancestors(run_key))
        return next((time_us for time_us in times if time_us is not None), None)

    def runs_with_new_time(self) -> set[str]:
        """Return the keys of the runs whose nominal time the last `add` may have changed.

        If a run got another nominal time or parent, these are the runs below it.
        """
        return descendant_runs(self._changed, self._runs_below)

    def _query_nominal_us(self, run_key: str) -> int | None:
        if run_key not in self._times:
            query = "SELECT n.time_us FROM run_keys k JOIN periods n ON n.run = k.id WHERE k.key = ?"
            row = self._sql.execute(query, (run_key,)).fetchone()
            self._times[run_key] = row[0] if row else None
        return self._times[run_key]

    def _runs_below(self, keys: Iterable[str]) -> Iterator[str]:
        for some in split_for_parameters(sorted(keys)):
            for (key,) in self._sql.execute(_BELOW_KEYS.format(question_marks(some)), (*some, *some)):
                yield key
