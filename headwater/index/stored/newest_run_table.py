"""Which run of each job is its newest: it gives the job its state.

Kept from batch to batch, since runs that end at one instant are ordered by their keys: to order them anew each time
costs what was there before. A run that leaves a job, or is older than it seemed, is looked for again.
"""

import sqlite3

from headwater.index.stored.run_numbers import RunNumbers

NEWEST_RUN = (
    "SELECT r.run FROM runs r JOIN run_keys k ON k.id = r.run WHERE r.job_key = {} AND r.kind = 'RUN' "
    "ORDER BY r.time_us DESC, k.key DESC LIMIT 1"
)
"""The newest run of a job, among all of them."""

_ANEW = f"UPDATE jobs SET newest = ({NEWEST_RUN.format('jobs.key')}) WHERE key = ? AND newest = ?"
_NEWER = (
    "UPDATE jobs SET newest = ?2 WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM runs r JOIN run_keys k ON k.id = r.run "
    "WHERE r.run = jobs.newest AND (r.time_us, k.key) > (?3, ?4))"
)
_STATE = "UPDATE jobs SET state = (SELECT state FROM runs WHERE run = jobs.newest) WHERE key = ?"


class NewestRunTable:
    """Takes runs as they are derived, again and again."""

    def __init__(self, connection: sqlite3.Connection, numbers: RunNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._numbers = numbers
        self._newest: dict[int, tuple[int, str]] = {}
        self._left: list[tuple[int, int]] = []
        self._renewed: set[int] = set()

    def take(self, job: int, run: str, time_us: int, before: tuple[int, int]) -> None:
        """Take a run of a job by its key; before: job and time when it was last taken, job 0 if it is new."""
        job_before, before_us = before
        if job_before and (job_before != job or before_us > time_us):
            self._left.append((job_before, self._numbers[run]))
        self._newest[job] = max(self._newest.get(job, (time_us, run)), (time_us, run))

    def renew(self, job: int) -> None:
        """Take the state of the newest run of a job anew at the next `flush`."""
        self._renewed.add(job)

    def flush(self) -> set[int]:
        """Write what was taken, once the tables of runs and of jobs have it; return the jobs that lost a run."""
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
