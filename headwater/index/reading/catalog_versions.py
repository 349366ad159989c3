"""Versions of datasets and jobs over time, including datasets that no run writes."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import DATASET
from headwater.index.stored.database import marks
from headwater.index.stored.version_table import dataset_version, version_value
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name

_SCHEMAS = "FROM described d JOIN facet_sets s ON s.id = d.facet_set WHERE d.kind = ? AND s.schema IS NOT NULL"


class VersionRow(NamedTuple):
    """A version of a dataset or job: its packed value, the first and last time (us), and its first run."""

    version: bytes
    value: bytes
    first_us: int
    last_us: int
    run: str


class CatalogVersions:
    """Versions in one generation of the index, up to a time."""

    def __init__(self, live: LiveGraph, until_us: int):
        """Read from `live`, which must not be refreshed while this object is in use.

        until_us: what came later is left out.
        """
        self._sql, self._names = live.sql, live.names
        self._until = until_us

    def listed(self, kind: int, name: int, limit: int, offset: int = 0) -> list[VersionRow]:
        """Return the versions of a dataset or job, the last written one first."""
        written = "last_us" if self._until == EVER_US else f"min(last_us, {self._until})"  # the order of an SQL index
        rows = self._sql.execute(
            "SELECT version, value, first_us, last_us, run FROM versions WHERE kind = ? AND name = ? AND first_us <= ? "
            f"ORDER BY {written} DESC, version DESC LIMIT ? OFFSET ?",
            (kind, name, self._until, limit, offset),
        )
        return [VersionRow(*row) for row in rows]

    def count(self, kind: int, name: int) -> int:
        """Count the versions of a dataset or job."""
        query = "SELECT count(*) FROM versions WHERE kind = ? AND name = ? AND first_us <= ?"
        return int(self._sql.execute(query, (kind, name, self._until)).fetchone()[0])

    def first_written_us(self, dataset: Name) -> int | None:
        """Return when a run first wrote a dataset (us), or None if no run did."""
        query = "SELECT min(first_us) FROM versions WHERE kind = ? AND name = ? AND first_us <= ?"
        found = self._sql.execute(query, (DATASET, self._names.known(dataset) or 0, self._until)).fetchone()[0]
        return None if found is None else int(found)

    def newest(self, dataset: Name, names: Iterable[Name]) -> tuple[bytes, int | None]:
        """Return a dataset's newest version and when it was last written (us).

        names: all names of the dataset. The time is None if no run writes it; its version then comes from `unwritten`.
        """
        rows = self.listed(DATASET, self._names.known(dataset) or 0, 1)
        if rows:
            return rows[0].version, rows[0].last_us
        unwritten = self.unwritten(dataset, names)
        return unwritten[0].version if unwritten else undescribed(dataset), None

    def at(self, dataset: Name, time_us: int) -> bytes:
        """Return the version of a dataset at a time (us). If no run writes it, the version follows from its schema."""
        asked = (DATASET, self._names.known(dataset) or 0, time_us, time_us)
        row = self._sql.execute(
            "SELECT version FROM versions WHERE kind = ? AND name = ? AND first_us <= ? "
            "ORDER BY min(last_us, ?) DESC, first_us DESC LIMIT 1",
            asked,
        ).fetchone()
        if row:
            return bytes(row[0])
        newest = "ORDER BY min(d.last_us, ?) DESC, d.first_us DESC LIMIT 1"
        schema = self._sql.execute(
            f"SELECT s.schema {_SCHEMAS} AND d.name = ? AND d.first_us <= ? {newest}", asked
        ).fetchone()
        return dataset_version(dataset, schema[0] if schema else None, None, None)

    def unwritten(self, dataset: Name, names: Iterable[Name]) -> list[VersionRow]:
        """Return a version for each schema of a dataset that no run writes, newest first.

        names: all names of the dataset.
        """
        numbers = [self._names.known(each) or 0 for each in names]
        rows = self._sql.execute(
            f"SELECT s.schema, min(d.first_us), max(d.last_us) {_SCHEMAS} AND d.name IN ({marks(numbers)}) "
            "GROUP BY s.schema ORDER BY max(d.last_us) DESC, s.schema",
            (DATASET, *numbers),
        )
        return [
            VersionRow(dataset_version(dataset, schema, None, None), version_value(schema), first, last, "")
            for schema, first, last in rows
        ]


def undescribed(name: Name) -> bytes:
    """Return the version of a dataset without schema, lineage and producer's version."""
    return dataset_version(name, None, None, None)


def undescribed_versions(name: Name, span: tuple[int, int] | None) -> list[VersionRow]:
    """Return the single version of a dataset without any description. span: when it existed, None for no version."""
    return [VersionRow(undescribed(name), version_value(None), *span, "")] if span else []
