"""Reads the runs of jobs, and the versions of datasets and jobs over time, for the catalog."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import DATASET, question_marks
from headwater.index.stored.events import EventPlace, newest_facet_places
from headwater.index.stored.run_facets import recent_facets
from headwater.index.stored.versions import RunDatasets, dataset_version_id, run_datasets_from, schema_version_value
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US

_RUN = (
    "SELECT k.key, r.job_key, r.state, r.processing, r.started_us, r.ended_us, r.time_us, r.datasets, "
    "n.start_us, n.end_us "
    "FROM run_keys k JOIN runs r ON r.run = k.id LEFT JOIN nominal_times n ON n.run = r.run "
)

_SCAN_LIMIT = 50
"""The number of a job's newest runs that are searched for a run with a given version."""

_NAMED_BY_CHILDREN = (
    "SELECT k.key, j.parent, 'RUNNING', 'BATCH', min(r.started_us), NULL, max(r.time_us), NULL, NULL, NULL "
    "FROM jobs j JOIN runs r ON r.job_key = j.key JOIN run_keys k ON k.id = r.parent "
    "WHERE {where} AND r.kind = 'RUN' AND r.time_us <= ? "
    "AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.run = r.parent) GROUP BY k.key, j.parent"
)
"""Selects runs without events that child runs name as their parent. Such a run has the times of its child runs."""


class RunRow(NamedTuple):
    """A run in the index. Times are in microseconds, UTC.

    run: the run key. job_key: the number of the job's key. packed_datasets: a packed `RunDatasets`, or None if only
    child runs name the run.
    """

    run: str
    job_key: int
    state: str
    processing: str
    started_us: int
    ended_us: int | None
    time_us: int
    packed_datasets: bytes | None
    nominal_start_us: int | None
    nominal_end_us: int | None

    def datasets(self) -> RunDatasets:
        """Return the datasets that the run reads and writes."""
        return (
            run_datasets_from(self.packed_datasets) if self.packed_datasets is not None else RunDatasets((), (), None)
        )


class CatalogRuns:
    """The runs in one generation of the index, up to a time."""

    def __init__(self, sql: sqlite3.Connection, until_us: int):
        """Read through the index's connection. Its read transaction must stay open.

        until_us: runs with a later time (us) are left out.
        """
        self._sql = sql
        self._until = until_us

    def newest_runs(self, job: int, limit: int, offset: int = 0) -> list[RunRow]:
        """Return the newest runs of a job. job: the number of the job's key.

        If no run of the job sent events, returns the runs that child runs name as their parent.
        """
        rows = self._sql.execute(
            f"{_RUN} WHERE r.job_key = ? AND r.kind = 'RUN' AND r.time_us <= ? "
            "ORDER BY r.time_us DESC, k.key DESC LIMIT ? OFFSET ?",
            (job, self._until, limit, offset),
        )
        found = [RunRow(*row) for row in rows]
        return found if found or self._has_events(job) else self._runs_named_by_children(job, limit, offset)

    def newest_of_version(self, job: int, version: bytes, last_us: int) -> RunRow | None:
        """Return a job's newest run up to a time (us) with a given job version, or None. Searches the last 50 runs."""
        rows = self._sql.execute(
            f"{_RUN} WHERE r.job_key = ? AND r.kind = 'RUN' AND r.time_us <= ? "
            "ORDER BY r.time_us DESC, k.key DESC LIMIT ?",
            (job, min(last_us, self._until), _SCAN_LIMIT),
        )
        return next((run for run in map(RunRow._make, rows) if run.datasets().job == version), None)

    def _has_events(self, job: int) -> bool:
        query = "SELECT 1 FROM runs WHERE job_key = ? AND kind = 'RUN' AND time_us <= ? LIMIT 1"
        return self._sql.execute(query, (job, self._until)).fetchone() is not None

    def _runs_named_by_children(self, job: int, limit: int, offset: int = 0) -> list[RunRow]:
        """Return the runs of a job that only child runs name, newest first."""
        named = _NAMED_BY_CHILDREN.format(where="j.parent = ?")
        query = f"{named} ORDER BY max(r.time_us) DESC, k.key DESC LIMIT ? OFFSET ?"
        return [RunRow(*row) for row in self._sql.execute(query, (job, self._until, limit, offset))]

    def count_runs(self, job: int) -> int:
        """Count the runs of a job that `newest_runs` lists."""
        query = "SELECT count(*) FROM runs WHERE job_key = ? AND kind = 'RUN' AND time_us <= ?"
        own = int(self._sql.execute(query, (job, self._until)).fetchone()[0])
        named = f"SELECT count(*) FROM ({_NAMED_BY_CHILDREN.format(where='j.parent = ?')})"
        return own or int(self._sql.execute(named, (job, self._until)).fetchone()[0])

    def run_by_key(self, key: str) -> RunRow | None:
        """Return a run by its key, also if only child runs name it. Returns None if the run is unknown."""
        row = self._sql.execute(f"{_RUN} WHERE k.key = ? AND r.kind = 'RUN'", (key,)).fetchone()
        if row is None:
            where = "r.parent = (SELECT id FROM run_keys WHERE key = ?) AND j.parent IS NOT NULL"
            query = f"{_NAMED_BY_CHILDREN.format(where=where)} ORDER BY max(r.time_us) DESC, j.parent LIMIT 1"
            row = self._sql.execute(query, (key, self._until)).fetchone()
        return RunRow(*row) if row else None

    def run_facets(self, run_keys: Sequence[str]) -> dict[str, dict[str, bytes]]:
        """Return facet texts by run key and facet name. Leaves out runs if the index does not contain their facets."""
        return recent_facets(self._sql, run_keys)

    def event_places_of_facets(self, run_key: str, kind: int) -> set[EventPlace]:
        """Return the places of the events with the newest facets of a run. kind: RUN, or JOB for its job's facets."""
        return newest_facet_places(self._sql, run_key, kind)


_SCHEMAS = "FROM facet_set_uses d JOIN facet_sets s ON s.id = d.facet_set WHERE d.kind = ? AND s.schema IS NOT NULL"


class VersionRow(NamedTuple):
    """A version of a dataset or job: its id, packed value, first and last time (us), and the key of its first run."""

    version: bytes
    packed_value: bytes
    first_us: int
    last_us: int
    run: str


class CatalogVersions:
    """The versions of datasets and jobs in one generation of the index, up to a time."""

    def __init__(self, live: LiveGraph, until_us: int):
        """Read from `live`, which must not be refreshed while this object is in use.

        until_us: versions with a later first time (us) are left out.
        """
        self._sql, self._names = live.sql, live.names
        self._until = until_us

    def versions(self, kind: int, name: int, limit: int, offset: int = 0) -> list[VersionRow]:
        """Return the versions of a dataset or job, the last written one first. name: the number of the name."""
        written = (
            "last_us" if self._until == MAX_TIME_US else f"min(last_us, {self._until})"
        )  # the order of an SQL index
        rows = self._sql.execute(
            "SELECT version, value, first_us, last_us, run FROM versions WHERE kind = ? AND name = ? AND first_us <= ? "
            f"ORDER BY {written} DESC, version DESC LIMIT ? OFFSET ?",
            (kind, name, self._until, limit, offset),
        )
        return [VersionRow(*row) for row in rows]

    def count_versions(self, kind: int, name: int) -> int:
        """Count the versions of a dataset or job."""
        query = "SELECT count(*) FROM versions WHERE kind = ? AND name = ? AND first_us <= ?"
        return int(self._sql.execute(query, (kind, name, self._until)).fetchone()[0])

    def first_written_us(self, dataset: Name) -> int | None:
        """Return when a run first wrote a dataset (us, UTC), or None if no run wrote it."""
        query = "SELECT min(first_us) FROM versions WHERE kind = ? AND name = ? AND first_us <= ?"
        found = self._sql.execute(query, (DATASET, self._names.find_number(dataset) or 0, self._until)).fetchone()[0]
        return None if found is None else int(found)

    def newest_version(self, dataset: Name, names: Iterable[Name]) -> tuple[bytes, int | None]:
        """Return (newest version of a dataset, time of its last write (us, UTC) or None).

        names: all names of the dataset. If no run writes the dataset, the time is None, and the version is derived from
        the dataset's newest schema.
        """
        rows = self.versions(DATASET, self._names.find_number(dataset) or 0, 1)
        if rows:
            return rows[0].version, rows[0].last_us
        unwritten = self.schema_only_versions(dataset, names)
        return unwritten[0].version if unwritten else undescribed_version(dataset), None

    def version_at(self, dataset: Name, time_us: int) -> bytes:
        """Return the version of a dataset at a time (us).

        If no run wrote the dataset until then, the version is derived from the dataset's schema at that time.
        """
        values = (DATASET, self._names.find_number(dataset) or 0, time_us, time_us)
        row = self._sql.execute(
            "SELECT version FROM versions WHERE kind = ? AND name = ? AND first_us <= ? "
            "ORDER BY min(last_us, ?) DESC, first_us DESC LIMIT 1",
            values,
        ).fetchone()
        if row:
            return bytes(row[0])
        newest = "ORDER BY min(d.last_us, ?) DESC, d.first_us DESC LIMIT 1"
        schema = self._sql.execute(
            f"SELECT s.schema {_SCHEMAS} AND d.name = ? AND d.first_us <= ? {newest}", values
        ).fetchone()
        return dataset_version_id(dataset, schema[0] if schema else None, None, None)

    def schema_only_versions(self, dataset: Name, names: Iterable[Name]) -> list[VersionRow]:
        """Return a version for each schema of a dataset that no run writes, newest first.

        names: all names of the dataset.
        """
        numbers = [self._names.find_number(each) or 0 for each in names]
        rows = self._sql.execute(
            f"SELECT s.schema, min(d.first_us), max(d.last_us) {_SCHEMAS} AND d.name IN ({question_marks(numbers)}) "
            "GROUP BY s.schema ORDER BY max(d.last_us) DESC, s.schema",
            (DATASET, *numbers),
        )
        return [
            VersionRow(dataset_version_id(dataset, schema, None, None), schema_version_value(schema), first, last, "")
            for schema, first, last in rows
        ]


def undescribed_version(name: Name) -> bytes:
    """Return the version of a dataset that has no schema, no lineage and no version from a producer."""
    return dataset_version_id(name, None, None, None)


def undescribed_versions(name: Name, span: tuple[int, int] | None) -> list[VersionRow]:
    """Return the single version of a dataset that has no schema, no lineage and no version from a producer.

    span: the first and last time (us) of the version. None returns no version.
    """
    return [VersionRow(undescribed_version(name), schema_version_value(None), *span, "")] if span else []
