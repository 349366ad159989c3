"""Events by event time: their places in bronze, and how many there are."""

import sqlite3
from collections.abc import Iterable

from headwater.index.stored.event_table import QUARTER_US
from headwater.index.stored.facet_names_table import Place

_BEGINNING, _END = -(1 << 62), 1 << 62
_ONE_BY_ONE = "SELECT count(*) FROM happened WHERE time_us >= ? AND time_us < ?"
_BY_QUARTERS = (
    "SELECT coalesce(sum(events), 0) FROM quarters "
    "WHERE quarter >= ? AND quarter < ? AND type NOT IN ('JOB', 'DATASET')"
)


class CatalogEvents:
    """The events in one generation of the index."""

    def __init__(self, sql: sqlite3.Connection):
        """Read through the index's connection, whose read transaction must stay open."""
        self._sql = sql

    def of_runs(
        self, after_us: int | None, before_us: int | None, order: str, limit: int, offset: int
    ) -> tuple[list[Place], int]:
        """List run events in a time range as places in bronze, and count all events in it.

        after_us is included, before_us is not; None means no bound. order: `asc` or `desc`, by time.
        """
        span = _BEGINNING if after_us is None else after_us, _END if before_us is None else before_us
        way = {"asc": "ASC", "desc": "DESC"}[order]
        rows = self._sql.execute(
            "SELECT s.log, s.incarnation, s.part, h.sequence FROM happened h JOIN places s ON s.id = h.place "
            f"WHERE h.time_us >= ? AND h.time_us < ? ORDER BY h.time_us {way}, h.place {way}, h.sequence {way} "
            "LIMIT ? OFFSET ?",
            (*span, limit, offset),
        ).fetchall()
        return rows, self._count(*span)

    def of_namespace(self, namespace: str, limit: int, offset: int) -> tuple[list[Place], int]:
        """List the events of a namespace's jobs as places in bronze, newest first, and count all of them."""
        tables = (
            "parts p JOIN runs r ON r.run = p.run JOIN names n ON n.id = r.job JOIN places s ON s.id = p.place "
            "WHERE n.namespace = ?"
        )
        rows = self._sql.execute(
            f"SELECT s.log, s.incarnation, s.part, p.sequence FROM {tables} "
            "ORDER BY r.time_us DESC, p.sequence DESC LIMIT ? OFFSET ?",
            (namespace, limit, offset),
        ).fetchall()
        return rows, int(self._sql.execute(f"SELECT count(*) FROM {tables}", (namespace,)).fetchone()[0])

    def by_type(self, after_us: int, before_us: int) -> Iterable[tuple[str, int]]:
        """Count events by type between two times (us). Both must be multiples of 15 minutes."""
        query = "SELECT type, sum(events) FROM quarters WHERE quarter >= ? AND quarter < ? GROUP BY type"
        return self._sql.execute(query, (after_us // QUARTER_US, before_us // QUARTER_US))

    def _count(self, after_us: int, before_us: int) -> int:
        """Count run events: whole quarters of an hour from their counters, the rest one by one."""
        first, last = -(-after_us // QUARTER_US), before_us // QUARTER_US
        if last <= first:
            return self._one(_ONE_BY_ONE, after_us, before_us)
        edges = (
            self._one(_ONE_BY_ONE, after_us, first * QUARTER_US),
            self._one(_ONE_BY_ONE, last * QUARTER_US, before_us),
        )
        return self._one(_BY_QUARTERS, first, last) + sum(edges)

    def _one(self, query: str, *values: int) -> int:
        return int(self._sql.execute(query, values).fetchone()[0])
