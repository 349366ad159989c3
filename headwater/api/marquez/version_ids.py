"""Versions of datasets as UUIDs; none is ever null, because Marquez's Java client takes no null."""

from collections.abc import Collection
from functools import lru_cache
from uuid import UUID

from headwater.index.reading.catalog import Catalog, VersionRow
from headwater.index.stored.catalog_tables import DATASET
from headwater.index.stored.version_table import dataset_version, version_value
from headwater.lineage.names.dataset_name import Name


@lru_cache(maxsize=1024)
def version_text(version: bytes) -> str:
    """Return a version as the UUID that clients expect."""
    return str(UUID(bytes=version, version=5))


def undescribed(name: Name) -> bytes:
    """Return the version of a dataset of which a run says neither schema nor lineage nor a version of its own."""
    return dataset_version(name, None, None, None)


def version_now(catalog: Catalog, name: Name) -> bytes:
    """Return a dataset's version now; of one that no run is seen to write that of its newest schema."""
    newest = catalog.versions(DATASET, catalog.number(name), 1)
    if newest:
        return newest[0].version
    row = catalog.sql.execute("SELECT schema FROM datasets WHERE name = ?", (catalog.number(name),)).fetchone()
    return dataset_version(name, row[0] if row else None, None, None)


def version_at(catalog: Catalog, number: int, time_us: int) -> bytes:
    """Return the version that a dataset had at a time; of one that nobody is seen to write that of its schema then."""
    row = catalog.sql.execute(
        "SELECT version FROM versions WHERE kind = ? AND name = ? AND first_us <= ? "
        "ORDER BY min(last_us, ?) DESC, first_us DESC LIMIT 1",
        (DATASET, number, time_us, time_us),
    ).fetchone()
    if row:
        return bytes(row[0])
    schema = catalog.sql.execute(
        "SELECT s.schema FROM described d JOIN facet_sets s ON s.id = d.facet_set "
        "WHERE d.kind = ? AND d.name = ? AND s.schema IS NOT NULL AND d.first_us <= ? "
        "ORDER BY min(d.last_us, ?) DESC, d.first_us DESC LIMIT 1",
        (DATASET, number, time_us, time_us),
    ).fetchone()
    return dataset_version(catalog.name(number), schema[0] if schema else None, None, None)


def unwritten_versions(catalog: Catalog, name: Name, names: Collection[Name]) -> list[VersionRow]:
    """Return the versions of a dataset that no run is seen to write, newest first: one for each schema, else one.

    names: all that it goes by.
    """
    found: dict[str, tuple[int, int]] = {}
    for each in names:
        rows = catalog.sql.execute(
            "SELECT s.schema, min(d.first_us), max(d.last_us) FROM described d JOIN facet_sets s ON s.id = d.facet_set "
            "WHERE d.kind = ? AND d.name = ? AND s.schema IS NOT NULL GROUP BY s.schema",
            (DATASET, catalog.number(each)),
        )
        for schema, first, last in rows:
            known = found.get(schema, (first, last))
            found[schema] = (min(known[0], first), max(known[1], last))
    rows_found = [
        VersionRow(dataset_version(name, schema, None, None), version_value(schema), *span, "")
        for schema, span in found.items()
    ]
    newest_first = sorted(rows_found, key=lambda row: row.last_us, reverse=True)
    return newest_first or undescribed_versions(catalog, name, names)


def undescribed_versions(catalog: Catalog, name: Name, names: Collection[Name]) -> list[VersionRow]:
    """Return the version of a dataset of which nothing is said, none of one that was not there yet."""
    span = catalog.span(DATASET, names)
    return [VersionRow(undescribed(name), version_value(None), *span, "")] if span else []
