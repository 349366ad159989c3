"""The runs of jobs: their states, times, datasets; of the newest ones their facets, of others where bronze has them."""

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


class RunRow(NamedTuple):
    """A run as the index knows it; times in microseconds, UTC."""

    run: str
    job_key: int
    state: str
    processing: str
    started_us: int
    ended_us: int | None
    time_us: int
    said: bytes
    nominal_start_us: int | None
    nominal_end_us: int | None

    def datasets(self) -> RunDatasets:
        """Return what it reads and writes."""
        return said_from(self.said)


class CatalogRuns:
    """Reads one generation of the index, up to a moment."""

    def __init__(self, sql: sqlite3.Connection, until_us: int):
        """Use the index's connection, at rest on one generation; until_us: no newer runs are listed."""
        self._sql = sql
        self._until = until_us

    def newest(self, job: int, limit: int, offset: int = 0) -> list[RunRow]:
        """Return the newest runs of a job."""
        rows = self._sql.execute(
            f"{_RUN} WHERE r.job_key = ? AND r.kind = 'RUN' AND r.time_us <= ? "
            "ORDER BY r.time_us DESC, k.key DESC LIMIT ? OFFSET ?",
            (job, self._until, limit, offset),
        )
        return [RunRow(*row) for row in rows]

    def count(self, job: int) -> int:
        """Count the runs of a job."""
        query = "SELECT count(*) FROM runs WHERE job_key = ? AND kind = 'RUN' AND time_us <= ?"
        return int(self._sql.execute(query, (job, self._until)).fetchone()[0])

    def find(self, key: str) -> RunRow | None:
        """Return a run by its key."""
        row = self._sql.execute(f"{_RUN} WHERE k.key = ? AND r.kind = 'RUN'", (key,)).fetchone()
        return RunRow(*row) if row else None

    def facets(self, keys: Sequence[str]) -> dict[str, dict[str, bytes]]:
        """Return the text of each facet of those of these runs whose facets are kept here."""
        return recent_facets(self._sql, keys)

    def facet_places(self, key: str, whose: int) -> set[Place]:
        """Return where bronze has the newest of each facet of a run or, as it told them, of its job."""
        return newest_places(self._sql, key, whose)
