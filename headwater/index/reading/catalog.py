"""The catalog: datasets, jobs, facets, tags, deletions, lists and events, read from the index without a cache."""

import sqlite3
from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

from headwater.index.api_changes import NAMESPACE
from headwater.index.reading.catalog_history import CatalogRuns, CatalogVersions
from headwater.index.reading.facets import MAX_SETS, DescriptiveFacets, facet_set_from
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import DATASET, JOB, question_marks
from headwater.index.stored.datasets import TagTable
from headwater.index.stored.events import QUARTER_US, EventPlace
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.rules.tags import TagsFacet, newest_tags
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.run_facts import Tag

_BEGINNING, _END = -(1 << 62), 1 << 62
_ONE_BY_ONE = "SELECT count(*) FROM run_events WHERE time_us >= ? AND time_us < ?"
_BY_QUARTERS = (
    "SELECT coalesce(sum(events), 0) FROM quarters "
    "WHERE quarter >= ? AND quarter < ? AND type NOT IN ('JOB', 'DATASET')"
)


class CatalogEvents:
    """The places and numbers of events in one generation of the index."""

    def __init__(self, sql: sqlite3.Connection):
        """Read through the index's connection, whose read transaction must stay open."""
        self._sql = sql

    def run_events(
        self, after_us: int | None, before_us: int | None, order: str, limit: int, offset: int
    ) -> tuple[list[EventPlace], int]:
        """Return (a page of the places in bronze of run events in a time range, number of all run events in it).

        after_us is included, before_us is excluded; None means no bound. order: `asc` or `desc`, by time.
        """
        span = _BEGINNING if after_us is None else after_us, _END if before_us is None else before_us
        way = {"asc": "ASC", "desc": "DESC"}[order]
        rows = self._sql.execute(
            "SELECT s.log, s.incarnation, s.part, h.sequence FROM run_events h JOIN partitions s ON s.id = h.place "
            f"WHERE h.time_us >= ? AND h.time_us < ? ORDER BY h.time_us {way}, h.place {way}, h.sequence {way} "
            "LIMIT ? OFFSET ?",
            (*span, limit, offset),
        ).fetchall()
        return rows, self._count_run_events(*span)

    def namespace_events(self, namespace: str, limit: int, offset: int) -> tuple[list[EventPlace], int]:
        """Return (a page of the places in bronze of events by jobs of a namespace, number of all these events).

        The events of the newest runs come first.
        """
        tables = (
            "event_facts p JOIN runs r ON r.run = p.run JOIN names n ON n.id = r.job "
            "JOIN partitions s ON s.id = p.place WHERE n.namespace = ?"
        )
        rows = self._sql.execute(
            f"SELECT s.log, s.incarnation, s.part, p.sequence FROM {tables} "
            "ORDER BY r.time_us DESC, p.sequence DESC LIMIT ? OFFSET ?",
            (namespace, limit, offset),
        ).fetchall()
        return rows, int(self._sql.execute(f"SELECT count(*) FROM {tables}", (namespace,)).fetchone()[0])

    def count_by_type(self, after_us: int, before_us: int) -> Iterable[tuple[str, int]]:
        """Yield (event type, number of events) in [after, before). Both times (us) must be multiples of 15 minutes."""
        query = "SELECT type, sum(events) FROM quarters WHERE quarter >= ? AND quarter < ? GROUP BY type"
        return self._sql.execute(query, (after_us // QUARTER_US, before_us // QUARTER_US))

    def _count_run_events(self, after_us: int, before_us: int) -> int:
        """Count the run events in [after, before). Whole quarters of an hour are read from table `quarters`."""
        first, last = -(-after_us // QUARTER_US), before_us // QUARTER_US
        if last <= first:
            return self._query_int(_ONE_BY_ONE, after_us, before_us)
        edges = (
            self._query_int(_ONE_BY_ONE, after_us, first * QUARTER_US),
            self._query_int(_ONE_BY_ONE, last * QUARTER_US, before_us),
        )
        return self._query_int(_BY_QUARTERS, first, last) + sum(edges)

    def _query_int(self, query: str, *values: int) -> int:
        return int(self._sql.execute(query, values).fetchone()[0])


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
    "AND n.id NOT IN (SELECT location FROM dataset_changes WHERE renamed IS NOT NULL) "
    "AND NOT EXISTS (SELECT 1 FROM datasets d JOIN changes c ON c.mark = 'deleted' AND c.detail <> 'JOB' "
    "AND c.time_us >= e.last_us "
    "AND c.name IN (d.name, (SELECT id FROM names WHERE namespace = n.namespace AND name = '')) "
    "WHERE d.name = n.id AND d.dropped)"
)
"""Selects datasets by their current names `n`, with their rows `e` of `entities`.

Deleted datasets are left out unless an event named them later.
"""

DELETED_JOBS = (
    "SELECT d.key FROM changes c CROSS JOIN jobs d ON d.display_name = c.name "  # from the few changes to their jobs
    "CROSS JOIN entities s ON s.kind = 1 AND s.name = d.key "
    "WHERE c.mark = 'deleted' AND c.detail = 'JOB' AND c.time_us >= s.last_us UNION ALL "
    "SELECT d.key FROM changes c CROSS JOIN names w ON w.id = c.name AND w.name = '' "
    "CROSS JOIN names n ON n.namespace = w.namespace CROSS JOIN jobs d ON d.display_name = n.id "
    "CROSS JOIN entities s ON s.kind = 1 AND s.name = d.key "
    "WHERE c.mark = 'deleted' AND c.detail = 'NAMESPACE' AND c.time_us >= s.last_us"
)
"""Selects the key numbers of jobs that were deleted and have not run since."""

_ONLY_PARENT = (
    "(j.state IS NULL AND j.key = j.display_name AND EXISTS (SELECT 1 FROM jobs o "
    "WHERE o.display_name = j.display_name AND o.key <> j.key))"
)
"""True for a job `j` that only `parent` facets name, if another job, with an artifact id as key, has the same name."""

NamespaceRow = tuple[str, str, int | None, int | None]
"""(name of a namespace or source, URI of a source or "", first and last event time (us, UTC; None without events))."""


class JobRow(NamedTuple):
    """A job: the numbers of its key, its display name and its parent (or None), and its first and last event time.

    state: the state of its newest run, or None without runs. Times are in microseconds, UTC.
    """

    key_number: int
    display_name: int
    state: str | None
    parent: int | None
    first_us: int
    last_us: int


class CatalogLists:
    """Current lists. Methods with `limit` and `offset` return (rows of the page, length of the whole list)."""

    def __init__(self, sql: sqlite3.Connection):
        """Read through the index's connection, whose read transaction must stay open."""
        self._sql = sql

    def namespaces(self, limit: int, offset: int) -> tuple[list[NamespaceRow], int]:
        """List the namespaces of jobs and datasets, and `default`, by name."""
        return self._query_page(_NAMESPACES, "name", (), limit, offset)

    def namespace(self, name: str) -> NamespaceRow | None:
        """Return a namespace, or None if it is unknown. `default` is always known."""
        row: NamespaceRow | None = self._sql.execute(
            f"SELECT * FROM ({_NAMESPACES}) WHERE name = ?", (name,)
        ).fetchone()
        return row

    def sources(self, limit: int, offset: int) -> tuple[list[NamespaceRow], int]:
        """List data sources by name: those in `dataSource` facets, and namespaces of datasets without this facet."""
        return self._query_page(_SOURCES, "name", (), limit, offset)

    def source(self, name: str) -> NamespaceRow | None:
        """Return a data source by its name, or None if it is unknown."""
        row: NamespaceRow | None = self._sql.execute(f"SELECT * FROM ({_SOURCES}) WHERE name = ?", (name,)).fetchone()
        return row

    def tags(self) -> tuple[set[str], dict[str, str]]:
        """Return (the tags in use, the descriptions that tags got through the API by tag)."""
        used = self._sql.execute(
            "SELECT name FROM tag_names UNION SELECT detail FROM changes WHERE mark = 'tag' AND value = 'true'"
        )
        described = self._sql.execute(
            "SELECT n.name, c.value FROM changes c JOIN names n ON n.id = c.name "
            "WHERE c.mark = 'described' AND n.namespace = ''"
        )
        return {name for (name,) in used}, dict(described.fetchall())

    def datasets(self, namespace: str, limit: int, offset: int) -> tuple[list[str], int]:
        """List the datasets of a namespace by their current names.

        Deleted datasets are left out until a later event names them.
        """
        query = DATASETS.format(columns="n.name", where="n.namespace = ?")
        rows, total = self._query_page(query, "n.name", (namespace,), limit, offset)
        return [name for (name,) in rows], total

    def jobs(
        self, namespace: str | None, states: Sequence[str], limit: int, offset: int
    ) -> tuple[list[JobRow], int]:  # fmt: skip
        """List jobs, newest event first. A deleted job is left out until it runs again.

        namespace: None for all namespaces except the internal one. states: the states of the newest run that are
        listed; empty for all.
        """
        where, values = ("n.namespace <> ?", [NAMESPACE]) if namespace is None else ("n.namespace = ?", [namespace])
        if states:
            where, values = f"{where} AND j.state IN ({question_marks(states)})", [*values, *states]
        query = (
            "SELECT j.key, j.display_name, j.state, j.parent, e.first_us, e.last_us FROM entities e "
            "JOIN jobs j ON j.key = e.name JOIN names n ON n.id = j.display_name "
            f"WHERE e.kind = 1 AND {where} AND e.name NOT IN ({DELETED_JOBS}) AND NOT {_ONLY_PARENT}"
        )
        rows, total = self._query_page(query, "e.last_us DESC, e.name DESC", values, limit, offset)
        return [JobRow(*row) for row in rows], total

    def count_entities(self, kind: int, before_us: int) -> int:
        """Count the datasets or jobs with a first event before a time (us). kind: DATASET or JOB."""
        query = "SELECT count(*) FROM entities WHERE kind = ? AND first_us < ?"
        return int(self._sql.execute(query, (kind, before_us)).fetchone()[0])

    def count_sources(self, before_us: int) -> int:
        """Count the data sources with a first event before a time (us)."""
        query = f"SELECT count(*) FROM ({_SOURCES}) WHERE first_us < ?"
        return int(self._sql.execute(query, (before_us,)).fetchone()[0])

    def _query_page(
        self, query: str, order: str, values: Sequence[str], limit: int, offset: int
    ) -> tuple[list[Any], int]:
        rows = self._sql.execute(f"{query} ORDER BY {order} LIMIT ? OFFSET ?", (*values, limit, offset)).fetchall()
        return rows, int(self._sql.execute(f"SELECT count(*) FROM ({query})", values).fetchone()[0])


class Catalog:
    """The contents of the index at one point in time.

    as_of_us: everything after this time (us, UTC) is left out; None for now.
    """

    def __init__(self, live: LiveGraph, as_of_us: int | None = None):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self.live = live
        self._sql = live.sql
        self._until = MAX_TIME_US if as_of_us is None else as_of_us
        self.lists, self.events = CatalogLists(live.sql), CatalogEvents(live.sql)
        self.runs, self.versions = CatalogRuns(live.sql, self._until), CatalogVersions(live, self._until)
        self.is_now = as_of_us is None
        self._described = DescriptiveFacets(live)

    def name_of_number(self, number: int) -> Name:
        """Return the name for a number."""
        return self.live.names.name(number)

    def number_of_name(self, name: Name) -> int:
        """Return the number of a name, or 0 if it has none."""
        return self.live.names.find_number(name) or 0

    def usage_span(self, kind: int, names: Iterable[Name]) -> tuple[int, int] | None:
        """Return (first, last) event time (us) of events that use one of these names, or None without such events.

        kind: DATASET or JOB.
        """
        rows = [
            row
            for name in names
            for row in self._sql.execute(
                "SELECT first_us, last_us FROM entities WHERE kind = ? AND name = ? AND first_us <= ?",
                (kind, self.number_of_name(name), self._until),
            )
        ]
        return (min(row[0] for row in rows), min(self._until, max(row[1] for row in rows))) if rows else None

    def dataset_facets(
        self, dataset: Name, only_facet: str | None = None, excluded: Container[str] = ()
    ) -> dict[str, str]:  # fmt: skip
        """Return the newest text of each facet of a dataset under all its names, by facet name.

        only_facet: return only this facet. excluded: the names of facets to leave out.
        """
        if self.is_now:
            return self._described.dataset_facets(dataset, only_facet, excluded)
        return self._described.facets_at(self._until, DATASET, self.live.naming.names_of(dataset), only_facet, excluded)

    def job_facets(self, job: Name) -> dict[str, str]:
        """Return the newest text of each facet of a job, by facet name. job: the display name."""
        return self._described.job_facets(job) if self.is_now else self._described.facets_at(self._until, JOB, [job])

    def facets_of_version(self, names: Iterable[Name], schema: str | None) -> dict[str, str]:
        """Return the newest texts of the facets that were sent together with a schema of a dataset, by facet name.

        Facets that describe a single run are left out. names: the names of the dataset. schema: the content hash of the
        schema, or None for facets that were sent without a schema.
        """
        found: dict[str, str] = {}
        for name in names:
            rows = self._sql.execute(
                "SELECT s.value FROM facet_set_uses d JOIN facet_sets s ON s.id = d.facet_set "
                "WHERE d.kind = ? AND d.name = ? AND s.schema IS ? ORDER BY d.event_order DESC, s.digest LIMIT ?",
                (DATASET, self.number_of_name(name), schema, MAX_SETS),
            ).fetchall()
            for facet, number in (pair for (value,) in rows for pair in facet_set_from(value)):
                if facet not in found:
                    found[facet] = self.live.facet_text(number)
        return found

    def tags(self, dataset: Name, names: Iterable[Name]) -> Sequence[Tag]:
        """Return the newest tags of a dataset and its columns. names: all names of the dataset, as sent."""
        found = newest_tags(self.newest_tags_facets(names), self.live.naming).get(dataset, [])
        return [tag for tag in found if tag.value.casefold() != "false"]

    def newest_tags_facets(self, names: Iterable[Name]) -> list[TagsFacet]:
        """Return the newest `tags` facet of each producer for each of these names."""
        table = TagTable(self._sql, self.live.names)
        return [facet for name in names for facet in table.newest_facets(name, self._until)]

    def find_job(self, name: Name) -> JobRow | None:
        """Return a job by its key, by its display name, or by the name that one of its runs sent, or None.

        If several jobs match, returns the one with the newest event, preferably with runs.
        """
        numbers = (self.number_of_name(name), self.number_of_name(job_key(name, None)))
        keys = self._sql.execute(
            "SELECT key FROM jobs WHERE key IN (?1, ?2) UNION SELECT key FROM jobs WHERE display_name IN (?1, ?2) "
            "UNION SELECT job_key FROM runs WHERE sent_job = ?1",
            numbers,
        ).fetchall()
        rows = [row for (key,) in keys if (row := self.job_by_key_number(key))]
        return max(rows, key=lambda row: (row.state is not None, row.last_us), default=None)

    def name_with_ancestors(self, row: JobRow) -> str:
        """Return a job's name with the names of its ancestors as prefixes, separated by dots, as Marquez names jobs."""
        name, seen = self.name_of_number(row.display_name).name, {row.key_number}
        above: JobRow | None = row
        while above and above.parent and above.parent not in seen:
            seen.add(above.parent)
            parent = self.name_of_number(above.parent).name
            name = name if name.startswith(f"{parent}.") else f"{parent}.{name}"
            above = self.find_job(self.name_of_number(above.parent))
        return name

    def job_by_key_number(self, key: int) -> JobRow | None:
        """Return a job by the number of its key, or None if it is unknown."""
        row = self._sql.execute(
            "SELECT j.key, j.display_name, j.state, j.parent, e.first_us, e.last_us FROM jobs j "
            "JOIN entities e ON e.kind = ? AND e.name = j.key WHERE j.key = ? AND e.first_us <= ?",
            (JOB, key, self._until),
        ).fetchone()
        return JobRow(*row) if row else None

    def api_changes(self, name: Name) -> dict[tuple[str, str], tuple[int, str]]:
        """Return the changes made through the API to the job, dataset, tag, namespace or source with a name.

        Returns (mark, detail) → (time (us), value). For mark and detail, see `ApiChange` (operation, tag_or_column).
        """
        rows = self._sql.execute(
            "SELECT mark, detail, time_us, value FROM changes WHERE name = ? AND time_us <= ?",
            (self.number_of_name(name), self._until),
        )
        return {(mark, detail): (time_us, value) for mark, detail, time_us, value in rows}

    def deleted_us(self, name: Name) -> int | None:
        """Return when a job or dataset, or its namespace, was last deleted through the API (us), or None if never."""
        marks = (self.api_changes(each).items() for each in (name, Name(name.namespace, "")))
        return max((time_us for every in marks for (mark, _), (time_us, _) in every if mark == "deleted"), default=None)

    def running_jobs_using(self, names: Iterable[Name]) -> set[Name]:
        """Return the keys of running jobs that have ever read or written one of these names."""
        query = "SELECT u.job_key FROM uses u JOIN jobs j ON j.key = u.job_key WHERE u.name = ? AND j.state = 'RUNNING'"
        rows = [row for name in names for row in self._sql.execute(query, (self.number_of_name(name),))]
        return {self.name_of_number(number) for (number,) in rows}
