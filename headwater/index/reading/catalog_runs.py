"""Runs of jobs: states, times, datasets and facets. For older runs, the facets' places in bronze."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from headwater.index.stored.facet_names_table import Place, newest_places
from headwater.index.stored.recent_facets import recent_facets
from headwater.index.stored.version_table import RunDatasets, said_from

_RUN = (
    "SELECT k.key, r.job_key, r.state, r.processing, r.started_us, r.ended_us, r.time_us, r.said, n.start_us, n.end_us "
    "FROM run_keys k JOIN runs r ON r.run = k.id LEFT JOIN nominal_times n ON n.run = r.run "
)

_LOOKED_AT = 50
"""How many of a job's newest runs are searched for one of a given version."""

_NAMED = (
    "SELECT k.key, j.parent, 'RUNNING', 'BATCH', min(r.started_us), NULL, max(r.time_us), NULL, NULL, NULL "
    "FROM jobs j JOIN runs r ON r.job_key = j.key JOIN run_keys k ON k.id = r.parent "
    "WHERE {where} AND r.kind = 'RUN' AND r.time_us <= ? "
    "AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.run = r.parent) GROUP BY k.key, j.parent"
)
"""Selects runs without events that child runs name as their parent. Their times are those of their children."""


class RunRow(NamedTuple):
    """A run in the index. Times are in microseconds, UTC. `said`: packed datasets, None if only child runs name it."""

    run: str
    job_key: int
    state: str
    processing: str
    started_us: int
    ended_us: int | None
    time_us: int
    said: bytes | None
    nominal_start_us: int | None
    nominal_end_us: int | None

    def datasets(self) -> RunDatasets:
        """Return the datasets that the run reads and writes."""
        return said_from(self.said) if self.said is not None else RunDatasets((), (), None)


class CatalogRuns:
    """Runs in one generation of the index, up to a time."""

    def __init__(self, sql: sqlite3.Connection, until_us: int):
        """Read through the index's connection, whose read transaction must stay open.

        until_us: newer runs are left out.
        """
        self._sql = sql
        self._until = until_us

    def newest(self, job: int, limit: int, offset: int = 0) -> list[RunRow]:
        """Return the newest runs of a job. If none sent events, return those that child runs name as their parent."""
        rows = self._sql.execute(
            f"{_RUN} WHERE r.job_key = ? AND r.kind = 'RUN' AND r.time_us <= ? "
            "ORDER BY r.time_us DESC, k.key DESC LIMIT ? OFFSET ?",
            (job, self._until, limit, offset),
        )
        found = [RunRow(*row) for row in rows]
        return found if found or self._has_own(job) else self._named(job, limit, offset)

    def newest_of_version(self, job: int, version: bytes, last_us: int) -> RunRow | None:
        """Return the newest run with a given job version, among the last 50 up to a time (us)."""
        rows = self._sql.execute(
            f"{_RUN} WHERE r.job_key = ? AND r.kind = 'RUN' AND r.time_us <= ? "
            "ORDER BY r.time_us DESC, k.key DESC LIMIT ?",
            (job, min(last_us, self._until), _LOOKED_AT),
        )
        return next((run for run in map(RunRow._make, rows) if run.datasets().job == version), None)

    def _has_own(self, job: int) -> bool:
        query = "SELECT 1 FROM runs WHERE job_key = ? AND kind = 'RUN' AND time_us <= ? LIMIT 1"
        return self._sql.execute(query, (job, self._until)).fetchone() is not None

    def _named(self, job: int, limit: int, offset: int = 0) -> list[RunRow]:
        """Return the runs of a job that only child runs name, newest first."""
        query = f"{_NAMED.format(where='j.parent = ?')} ORDER BY max(r.time_us) DESC, k.key DESC LIMIT ? OFFSET ?"
        return [RunRow(*row) for row in self._sql.execute(query, (job, self._until, limit, offset))]

    def count(self, job: int) -> int:
        """Count the runs of a job that `newest` lists."""
        query = "SELECT count(*) FROM runs WHERE job_key = ? AND kind = 'RUN' AND time_us <= ?"
        own = int(self._sql.execute(query, (job, self._until)).fetchone()[0])
        named = f"SELECT count(*) FROM ({_NAMED.format(where='j.parent = ?')})"
        return own or int(self._sql.execute(named, (job, self._until)).fetchone()[0])

    def find(self, key: str) -> RunRow | None:
        """Return a run by its key. A run that only child runs name also counts."""
        row = self._sql.execute(f"{_RUN} WHERE k.key = ? AND r.kind = 'RUN'", (key,)).fetchone()
        if row is None:
            where = "r.parent = (SELECT id FROM run_keys WHERE key = ?) AND j.parent IS NOT NULL"
            query = f"{_NAMED.format(where=where)} ORDER BY max(r.time_us) DESC, j.parent LIMIT 1"
            row = self._sql.execute(query, (key, self._until)).fetchone()
        return RunRow(*row) if row else None

    def facets(self, keys: Sequence[str]) -> dict[str, dict[str, bytes]]:
        """Return the facet texts of those runs whose facets are in the index, by run and facet name."""
        return recent_facets(self._sql, keys)

    def facet_places(self, key: str, whose: int) -> set[Place]:
        """Return the places of the events with the newest facets of a run. whose: RUN, or JOB for its job's facets."""
        return newest_places(self._sql, key, whose)
