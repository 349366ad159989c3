"""Runs that report no end and are ENDED because their parent or root run has ended (rule 1.9)."""

import sqlite3
from typing import NamedTuple

from headwater.index.stored.catalog_tables import JOB
from headwater.index.stored.database import one_value
from headwater.lineage.runs.lost_runs import ENDED, ended_sql

_BELOW = (
    "SELECT r.run FROM json_each(?1) m CROSS JOIN runs r ON r.parent = m.value "
    "UNION SELECT r.run FROM json_each(?1) m CROSS JOIN runs r ON r.execution = m.value AND r.execution <> r.run"
)
_STATES = (
    "SELECT r.run, k.key, r.job_key, r.state, EXISTS (SELECT 1 FROM runs p WHERE p.run IN (r.parent, r.execution) "
    f"AND p.run <> r.run AND {ended_sql('r', 'p')}) FROM json_each(?1) a CROSS JOIN runs r ON r.run = a.value "
    f"JOIN run_keys k ON k.id = r.run WHERE r.kind = 'RUN' AND r.state IN ('RUNNING', '{ENDED}')"
)


class ChangedState(NamedTuple):
    """A run whose state changed because of another run. run: its key. job: the number of its job."""

    run: str
    job: int
    state: str


class OpenRunTable:
    """Collects derived runs. `flush` sets the state of those without an end."""

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection. The caller manages its transaction."""
        self._sql = connection
        self._open: set[int] = set()
        self._moved: set[int] = set()

    def take(self, run: int, state: str, *, is_part: bool, end_moved: bool) -> None:
        """Add a run. is_part: it has a parent or a root run. end_moved: its end was added or has another time now."""
        if is_part and state in ("RUNNING", ENDED):
            self._open.add(run)
        if end_moved:
            self._moved.add(run)

    def flush(self, generation: int) -> list[ChangedState]:
        """Write the states and return those that changed. Call it after the runs have been written."""
        if self._moved:
            self._open.update(run for (run,) in self._sql.execute(_BELOW, (one_value(sorted(self._moved)),)))
        rows = self._sql.execute(_STATES, (one_value(sorted(self._open)),)).fetchall() if self._open else []
        found = [
            (run, ChangedState(key, job, state))
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
