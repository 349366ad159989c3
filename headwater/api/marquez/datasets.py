"""Datasets and their versions."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from headwater.api.marquez.column_feeds import column_lineage
from headwater.api.marquez.facet_texts import raw_facets, schema_fields, text_in
from headwater.api.marquez.requests import Answer, Asked, not_found
from headwater.api.marquez.run_answers import Later, run_json, with_facets
from headwater.api.marquez.version_ids import undescribed_versions, unwritten_versions, version_now, version_text
from headwater.events.times import iso
from headwater.index.reading.catalog import VersionRow
from headwater.index.stored.catalog_tables import DATASET
from headwater.index.stored.version_table import version_value_from
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import Tag

_STREAMS = ("kafka", "pulsar", "kinesis", "eventhub", "pubsub")

_LISTED = (
    "FROM names n CROSS JOIN entities e ON e.kind = 0 AND e.name = n.id WHERE n.namespace = ? "
    "AND NOT EXISTS (SELECT 1 FROM bindings b WHERE b.alias = n.id) "
    "AND n.id NOT IN (SELECT location FROM lives WHERE renamed IS NOT NULL) "
    "AND NOT EXISTS (SELECT 1 FROM datasets d JOIN changes c ON c.name = d.name AND c.mark = 'deleted' "
    "WHERE d.name = n.id AND d.dropped)"
)
"""The datasets of a namespace by the names they go by now; those deleted by hand are left out until written again."""


def dataset_json(asked: Asked, name: Name, *, lineage: bool = True) -> Answer:
    """Return a dataset; lineage: also what feeds its columns."""
    names = asked.names_of(name)
    facets = asked.catalog.dataset_facets(name)
    span = asked.catalog.span(DATASET, names) or (None, None)
    tags = asked.catalog.tags(name, names)
    newest = asked.catalog.versions(DATASET, asked.catalog.number(name), 1)
    return {
        "id": name.shown,
        **_type_and_name(name, facets),
        "createdAt": iso(span[0]),
        "updatedAt": iso(span[1]),
        "fields": fields_json(facets, tags),
        "tags": sorted({tag.key for tag in tags if tag.column is None}),
        "lastModifiedAt": iso(newest[0].last_us) if newest else None,
        "lastLifecycleState": text_in(facets, "lifecycleStateChange", "lifecycleStateChange"),
        "description": text_in(facets, "documentation", "description"),
        "currentVersion": version_text(version_now(asked.catalog, name)),
        "columnLineage": column_lineage(asked.view, name) if lineage else None,
        "facets": raw_facets(facets),
        "deleted": not asked.view.snapshot.stands(name),
    }


def _type_and_name(name: Name, facets: Mapping[str, str]) -> Answer:
    return {
        "type": "STREAM" if name.namespace.partition(":")[0] in _STREAMS else "DB_TABLE",
        "name": name.name,
        "physicalName": name.name,
        "namespace": name.namespace,
        "sourceName": text_in(facets, "dataSource", "name") or name.namespace,
    }


def fields_json(facets: Mapping[str, str], tags: Sequence[Tag]) -> list[dict[str, Any]] | Raw:
    """Return the columns of a schema with their tags; encoded where none has any, as of nearly all."""
    if any(tag.column is not None for tag in tags):
        return _fields(facets, tags)
    return _untagged(facets.get("schema", ""))


def columns_json(asked: Asked, name: Name) -> list[dict[str, Any]]:
    """Return the columns of a dataset's newest schema with their tags, for an answer that changes them."""
    return _fields(asked.catalog.dataset_facets(name), asked.catalog.tags(name, asked.names_of(name)))


@lru_cache(1024)
def _untagged(schema: str) -> Raw:
    return Raw(msgspec.json.encode(_fields({"schema": schema}, ())))


def _fields(facets: Mapping[str, str], tags: Sequence[Tag]) -> list[dict[str, Any]]:
    by_column: dict[str, set[str]] = {}
    for tag in tags:
        if tag.column is not None:
            by_column.setdefault(tag.column.casefold(), set()).add(tag.key)
    return [
        {
            "name": field["name"],
            "type": _text(field.get("type")),
            "tags": sorted(by_column.get(field["name"].casefold(), ())),
            "description": _text(field.get("description")),
        }
        for field in schema_fields(facets)
    ]


def _text(sent: object) -> str | None:
    """Return what a producer sent where a text belongs; clients take no other form."""
    return sent if isinstance(sent, str) else None


def list_datasets(asked: Asked) -> Answer:
    """GET /namespaces/{namespace}/datasets, by name."""
    page, namespace, sql = asked.page(), asked.namespace(), asked.catalog.sql
    rows = sql.execute(
        f"SELECT n.name {_LISTED} ORDER BY n.name LIMIT ? OFFSET ?", (namespace, page.limit, page.offset)
    ).fetchall()
    total = sql.execute(f"SELECT count(*) {_LISTED}", (namespace,)).fetchone()[0]
    return page.listed("datasets", [dataset_json(asked, Name(namespace, row[0])) for row in rows], total)


def get_dataset(asked: Asked) -> Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}."""
    return dataset_json(asked, asked.dataset())


def list_versions(asked: Asked) -> Later | Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}/versions, the one written last first."""
    name, page = asked.dataset(), asked.page()
    number = asked.catalog.number(name)
    rows = asked.catalog.versions(DATASET, number, page.limit, page.offset)
    total = asked.catalog.count_versions(DATASET, number)
    if not total:
        unwritten = _unwritten(asked, name)
        rows, total = unwritten[page.offset : page.offset + page.limit], len(unwritten)
    shown = [_version_json(asked, name, row) for row in rows]
    return page.listed("versions", shown, total)


def get_version(asked: Asked) -> Later | Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}/versions/{version}."""
    name = asked.dataset()
    row = find_version(asked, name, asked.path["version"])
    if row is None:
        raise not_found("Dataset version", asked.path["version"])
    shown = _version_json(asked, name, row)
    run = asked.catalog.run(row.run)
    if run is None:
        return shown
    return with_facets(asked, [run], [shown["createdByRun"]], lambda: shown)


def find_version(asked: Asked, name: Name, version: str) -> VersionRow | None:
    """Return a version of a dataset by its UUID."""
    known = asked.catalog.versions(DATASET, asked.catalog.number(name), -1) or _unwritten(asked, name)
    known += undescribed_versions(asked.catalog, name, asked.names_of(name))
    return next((row for row in known if version_text(row.version) == version.lower()), None)


def _unwritten(asked: Asked, name: Name) -> list[VersionRow]:
    return unwritten_versions(asked.catalog, name, asked.names_of(name))


def _version_json(asked: Asked, name: Name, row: VersionRow) -> Answer:
    schema, lineage, label = version_value_from(row.value)
    facets = asked.catalog.facets_of_version(asked.names_of(name), schema)
    run = asked.catalog.run(row.run) if row.run else None
    text = version_text(row.version)
    return {
        "id": {**name.shown, "version": text},
        **_type_and_name(name, facets),
        "createdAt": iso(row.first_us),
        "version": text,
        "externalVersion": label,
        "fields": fields_json(facets, asked.catalog.tags(name, asked.names_of(name))),
        "tags": [],
        "lifecycleState": text_in(facets, "lifecycleStateChange", "lifecycleStateChange"),
        "description": text_in(facets, "documentation", "description"),
        "currentSchemaVersion": schema,
        "lineageHash": lineage,
        "createdByRun": run_json(asked.catalog, run) if run else None,
        "facets": raw_facets(facets),
    }
