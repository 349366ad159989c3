"""The newest run of each job, which determines the job's state.

The result is stored, because runs that end at the same instant are ordered by their keys, and sorting them again with
each batch would cost as much as the whole history. If a run moves to another job or turns out to be older, the newest
run of its former job is searched again.
"""

import sqlite3

from headwater.index.stored.run_numbers import RunNumbers

NEWEST_RUN = (
    "SELECT r.run FROM runs r JOIN run_keys k ON k.id = r.run WHERE r.job_key = {} AND r.kind = 'RUN' "
    "ORDER BY r.time_us DESC, k.key DESC LIMIT 1"
)
"""SQL of the newest run of a job, searched among all its runs."""

_ANEW = f"UPDATE jobs SET newest = ({NEWEST_RUN.format('jobs.key')}) WHERE key = ? AND newest = ?"
_NEWER = (
    "UPDATE jobs SET newest = ?2 WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM runs r JOIN run_keys k ON k.id = r.run "
    "WHERE r.run = jobs.newest AND (r.time_us, k.key) > (?3, ?4))"
)
_STATE = "UPDATE jobs SET state = (SELECT state FROM runs WHERE run = jobs.newest) WHERE key = ?"


class NewestRunTable:
    """Collects derived runs and writes them in `flush`. A run may be added again with every batch."""

    def __init__(self, connection: sqlite3.Connection, numbers: RunNumbers):
        self._sql = connection
        self._numbers = numbers
        self._newest: dict[int, tuple[int, str]] = {}
        self._left: list[tuple[int, int]] = []
        self._renewed: set[int] = set()

    def take(self, job: int, run: str, time_us: int, before: tuple[int, int]) -> None:
        """Add a run of a job. before: its job and time when it was last added, with job 0 if it is new."""
        job_before, before_us = before
        if job_before and (job_before != job or before_us > time_us):
            self._left.append((job_before, self._numbers[run]))
        self._newest[job] = max(self._newest.get(job, (time_us, run)), (time_us, run))

    def renew(self, job: int) -> None:
        """Update the state of a job from its newest run at the next `flush`."""
        self._renewed.add(job)

    def flush(self) -> set[int]:
        """Write the newest runs. Return the jobs that lost a run. Call it after the runs and jobs have been written."""
        self._sql.executemany(_ANEW, self._left)
        newest = [(job, self._numbers[key], time_us, key) for job, (time_us, key) in self._newest.items()]
        self._sql.executemany(_NEWER, newest)
        changed = {*self._newest, *self._renewed, *(job for job, _ in self._left)}
        self._sql.executemany(_STATE, [(job,) for job in changed])
        left = {job for job, _ in self._left}
        self._newest.clear()
        self._left.clear()
        self._renewed.clear()
        return left
