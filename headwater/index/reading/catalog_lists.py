"""Pages of namespaces, sources, datasets and jobs, the list of tags, and counts up to a time."""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from headwater.index.stored.database import marks
from headwater.index.writing.announced_changes import NAMESPACE

_NAMESPACES = (
    "SELECT name, '' AS uri, min(first_us) AS first_us, max(last_us) AS last_us FROM ("
    "SELECT name, first_us, last_us FROM namespaces UNION ALL SELECT 'default', NULL, NULL UNION ALL "
    "SELECT n.namespace, c.time_us, c.time_us FROM changes c JOIN names n ON n.id = c.name WHERE c.mark = 'namespace'"
    ") GROUP BY name"
)
_SOURCES = (
    "WITH named AS (SELECT name, uri, first_us, last_us FROM data_sources UNION ALL "
    "SELECT n.name, CASE WHEN json_valid(c.value) THEN c.value ->> '$.connectionUrl' END, c.time_us, c.time_us "
    "FROM changes c JOIN names n ON n.id = c.name WHERE c.mark = 'source') "
    "SELECT name, max(uri) AS uri, min(first_us) AS first_us, max(last_us) AS last_us FROM named GROUP BY name "
    "UNION ALL "
    "SELECT n.namespace AS name, n.namespace AS uri, min(e.first_us) AS first_us, max(e.last_us) AS last_us "
    "FROM entities e JOIN names n ON n.id = e.name WHERE e.kind = 0 "
    "AND n.namespace NOT IN (SELECT name FROM named) GROUP BY n.namespace"
)
DATASETS = (
    "SELECT {columns} FROM names n CROSS JOIN entities e ON e.kind = 0 AND e.name = n.id WHERE {where} "
    "AND NOT EXISTS (SELECT 1 FROM bindings b WHERE b.alias = n.id) "
    "AND n.id NOT IN (SELECT location FROM lives WHERE renamed IS NOT NULL) "
    "AND NOT EXISTS (SELECT 1 FROM datasets d JOIN changes c ON c.mark = 'deleted' AND c.detail <> 'JOB' "
    "AND c.time_us >= e.last_us "
    "AND c.name IN (d.name, (SELECT id FROM names WHERE namespace = n.namespace AND name = '')) "
    "WHERE d.name = n.id AND d.dropped)"
)
"""Selects datasets by their current names `n`, with their entities `e`, unless deleted and without a later event."""

DELETED_JOBS = (
    "SELECT d.key FROM changes c CROSS JOIN jobs d ON d.shown = c.name "  # from the few changes to their jobs
    "CROSS JOIN entities s ON s.kind = 1 AND s.name = d.key "
    "WHERE c.mark = 'deleted' AND c.detail = 'JOB' AND c.time_us >= s.last_us UNION ALL "
    "SELECT d.key FROM changes c CROSS JOIN names w ON w.id = c.name AND w.name = '' "
    "CROSS JOIN names n ON n.namespace = w.namespace CROSS JOIN jobs d ON d.shown = n.id "
    "CROSS JOIN entities s ON s.kind = 1 AND s.name = d.key "
    "WHERE c.mark = 'deleted' AND c.detail = 'NAMESPACE' AND c.time_us >= s.last_us"
)
"""Selects the keys of jobs that were deleted and have not run since."""

_NAMED_ALONE = (
    "(j.state IS NULL AND j.key = j.shown AND EXISTS (SELECT 1 FROM jobs o WHERE o.shown = j.shown AND o.key <> j.key))"
)
"""Selects a job that only `parent` facets name and that has another key, an artifact id, in its own events."""

HeardOf = tuple[str, str, int | None, int | None]
"""Name of a namespace or source, URI of a source, first and last event time (us, UTC). Without events, no times."""


class JobRow(NamedTuple):
    """A job: the numbers of its key, its display name and its parent, and the state of its newest run."""

    key: int
    shown: int
    state: str | None
    parent: int | None
    first_us: int
    last_us: int


class CatalogLists:
    """Current lists. Each page comes with the length of the whole list."""

    def __init__(self, sql: sqlite3.Connection):
        """Read through the index's connection, whose read transaction must stay open."""
        self._sql = sql

    def namespaces(self, limit: int, offset: int) -> tuple[list[HeardOf], int]:
        """List the namespaces of jobs and datasets, and `default`, by name."""
        return self._page(_NAMESPACES, "name", (), limit, offset)

    def namespace(self, name: str) -> HeardOf | None:
        """Return a namespace, or None if it is empty and not `default`."""
        row: HeardOf | None = self._sql.execute(f"SELECT * FROM ({_NAMESPACES}) WHERE name = ?", (name,)).fetchone()
        return row

    def sources(self, limit: int, offset: int) -> tuple[list[HeardOf], int]:
        """List data sources by name: those in `dataSource` facets, and namespaces of datasets without this facet."""
        return self._page(_SOURCES, "name", (), limit, offset)

    def source(self, name: str) -> HeardOf | None:
        """Return a data source by its name."""
        row: HeardOf | None = self._sql.execute(f"SELECT * FROM ({_SOURCES}) WHERE name = ?", (name,)).fetchone()
        return row

    def tags(self) -> tuple[set[str], dict[str, str]]:
        """Return the tags in use, and the descriptions that were added to tags through the API."""
        used = self._sql.execute(
            "SELECT name FROM tag_names UNION SELECT detail FROM changes WHERE mark = 'tag' AND value = 'true'"
        )
        described = self._sql.execute(
            "SELECT n.name, c.value FROM changes c JOIN names n ON n.id = c.name "
            "WHERE c.mark = 'described' AND n.namespace = ''"
        )
        return {name for (name,) in used}, dict(described.fetchall())

    def datasets(self, namespace: str, limit: int, offset: int) -> tuple[list[str], int]:
        """List the datasets of a namespace by their current names, without deleted ones that were not written since."""
        query = DATASETS.format(columns="n.name", where="n.namespace = ?")
        rows, total = self._page(query, "n.name", (namespace,), limit, offset)
        return [name for (name,) in rows], total

    def jobs(
        self, namespace: str | None, states: Sequence[str], limit: int, offset: int
    ) -> tuple[list[JobRow], int]:  # fmt: skip
        """List jobs, the one with the newest event first. A deleted job is left out until it runs again.

        namespace: None for all except the internal one. states: allowed states of the newest run; empty for any.
        """
        where, values = ("n.namespace <> ?", [NAMESPACE]) if namespace is None else ("n.namespace = ?", [namespace])
        if states:
            where, values = f"{where} AND j.state IN ({marks(states)})", [*values, *states]
        query = (
            "SELECT j.key, j.shown, j.state, j.parent, e.first_us, e.last_us FROM entities e "
            "JOIN jobs j ON j.key = e.name JOIN names n ON n.id = j.shown "
            f"WHERE e.kind = 1 AND {where} AND e.name NOT IN ({DELETED_JOBS}) AND NOT {_NAMED_ALONE}"
        )
        rows, total = self._page(query, "e.last_us DESC, e.name DESC", values, limit, offset)
        return [JobRow(*row) for row in rows], total

    def count(self, kind: int, before_us: int) -> int:
        """Count the datasets or jobs whose first event is before a time (us)."""
        query = "SELECT count(*) FROM entities WHERE kind = ? AND first_us < ?"
        return int(self._sql.execute(query, (kind, before_us)).fetchone()[0])

    def count_sources(self, before_us: int) -> int:
        """Count the data sources whose first event is before a time (us)."""
        query = f"SELECT count(*) FROM ({_SOURCES}) WHERE first_us < ?"
        return int(self._sql.execute(query, (before_us,)).fetchone()[0])

    def _page(self, query: str, order: str, values: Sequence[str], limit: int, offset: int) -> tuple[list[Any], int]:
        rows = self._sql.execute(f"{query} ORDER BY {order} LIMIT ? OFFSET ?", (*values, limit, offset)).fetchall()
        return rows, int(self._sql.execute(f"SELECT count(*) FROM ({query})", values).fetchone()[0])
