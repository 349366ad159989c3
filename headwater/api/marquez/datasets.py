"""Datasets and their versions."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from headwater.api.marquez.column_feeds import column_lineage
from headwater.api.marquez.facet_texts import raw_facets, schema_fields, text_in, url_in
from headwater.api.marquez.nodes import version_text
from headwater.api.marquez.requests import Answer, Asked, not_found
from headwater.api.marquez.run_answers import Later, run_json, with_facets
from headwater.events.facet_sets import OF_COLUMNS
from headwater.events.times import iso
from headwater.index.reading.catalog_versions import VersionRow, undescribed_versions
from headwater.index.stored.catalog_tables import DATASET
from headwater.index.stored.version_table import version_value_from
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import Tag

SCHEMA_LOCATION = "headwater_schemaLocation"
"""Facet of a stream that was declared with the address of its schema."""

_STREAMS = ("kafka", "pulsar", "kinesis", "eventhub", "pubsub")


def dataset_json(asked: Asked, name: Name, *, lineage: bool = True) -> Answer:
    """Return a dataset; lineage: also what feeds its columns, in words of ours and in its facet."""
    names = asked.names_of(name)
    facets = asked.catalog.dataset_facets(name, without=() if lineage else OF_COLUMNS)
    span = asked.catalog.span(DATASET, names) or (None, None)
    tags = asked.catalog.tags(name, names)
    version, written_us = asked.catalog.versions.newest(name, names)
    return {
        "id": name.shown,
        **_type_and_name(name, facets),
        **_display_name(asked, name),
        "createdAt": iso(span[0]),
        "updatedAt": iso(span[1]),
        "fields": fields_json(facets, tags),
        "tags": _own(tags),
        "lastModifiedAt": iso(written_us),
        "lastLifecycleState": text_in(facets, "lifecycleStateChange", "lifecycleStateChange"),
        "description": text_in(facets, "documentation", "description"),
        "currentVersion": version_text(version),
        "columnLineage": column_lineage(asked.view, name) if lineage else None,
        "facets": raw_facets(facets),
        "deleted": _is_deleted(asked, name, span[1]),
    }


def _is_deleted(asked: Asked, name: Name, last_us: int | None) -> bool:
    """Tell whether a dataset is dropped, unless events have named it since it was deleted by hand."""
    if asked.view.snapshot.stands(name):
        return False
    deleted_us = asked.catalog.deleted_us(name)
    return deleted_us is None or last_us is None or last_us <= deleted_us


def _type_and_name(name: Name, facets: Mapping[str, str]) -> Answer:
    said = text_in(facets, "datasetType", "datasetType") or ""
    is_stream = name.namespace.partition(":")[0] in _STREAMS or said.upper() in ("STREAM", "TOPIC")
    return {
        "type": "STREAM" if is_stream else "DB_TABLE",
        "name": name.name,
        "physicalName": name.name,
        "namespace": name.namespace,
        "sourceName": text_in(facets, "dataSource", "name") or name.namespace,
        **({"schemaLocation": url_in(facets, SCHEMA_LOCATION, "url")} if is_stream else {}),
    }


def _display_name(asked: Asked, name: Name) -> Answer:
    """Return the display name where it is another than the canonical name."""
    shown = asked.catalog.live.display_names(asked.view.rules.names).of(name)
    return {} if shown == name.name else {"displayName": shown}


def _own(tags: Sequence[Tag]) -> list[str]:
    """Return the tags of a dataset itself."""
    return sorted({tag.key for tag in tags if tag.column is None})


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
    page, namespace = asked.page(), asked.namespace()
    names, total = asked.catalog.lists.datasets(namespace, page.limit, page.offset)
    return page.listed("datasets", [dataset_json(asked, Name(namespace, name)) for name in names], total)


def get_dataset(asked: Asked) -> Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}."""
    return dataset_json(asked, asked.dataset())


def list_versions(asked: Asked) -> Later | Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}/versions, the one written last first."""
    name, page = asked.dataset(), asked.page()
    number = asked.catalog.number(name)
    rows = asked.catalog.versions.listed(DATASET, number, page.limit, page.offset)
    written = asked.catalog.versions.count(DATASET, number)
    before = _before_written(asked, name)
    rows += before[max(0, page.offset - written) :][: page.limit - len(rows)]
    total = written + len(before)
    shown = [_version_json(asked, name, row) for row in rows]
    return page.listed("versions", shown, total)


def get_version(asked: Asked) -> Later | Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}/versions/{version}."""
    name = asked.dataset()
    row = find_version(asked, name, asked.path["version"])
    if row is None:
        raise not_found("Dataset version", asked.path["version"])
    shown = _version_json(asked, name, row)
    run = asked.catalog.runs.find(row.run)
    if run is None:
        return shown
    return with_facets(asked, [run], [shown["createdByRun"]], lambda: shown)


def find_version(asked: Asked, name: Name, version: str) -> VersionRow | None:
    """Return a version of a dataset by its UUID."""
    known = asked.catalog.versions.listed(DATASET, asked.catalog.number(name), -1)
    known += _before_written(asked, name) + _undescribed(asked, name)
    return next((row for row in known if version_text(row.version) == version.lower()), None)


def _unwritten(asked: Asked, name: Name) -> list[VersionRow]:
    return asked.catalog.versions.unwritten(name, asked.names_of(name)) or _undescribed(asked, name)


def _before_written(asked: Asked, name: Name) -> list[VersionRow]:
    """Return the versions that a dataset had before a run was first seen to write it."""
    written_us = asked.catalog.versions.first_written_us(name)
    found = _unwritten(asked, name)
    return found if written_us is None else [row for row in found if row.first_us < written_us]


def _undescribed(asked: Asked, name: Name) -> list[VersionRow]:
    return undescribed_versions(name, asked.catalog.span(DATASET, asked.names_of(name)))


def _version_json(asked: Asked, name: Name, row: VersionRow) -> Answer:
    schema, lineage, label = version_value_from(row.value)
    facets = asked.catalog.facets_of_version(asked.names_of(name), schema)
    run = asked.catalog.runs.find(row.run) if row.run else None
    text, tags = version_text(row.version), asked.catalog.tags(name, asked.names_of(name))
    return {
        "id": {**name.shown, "version": text},
        **_type_and_name(name, facets),
        **_display_name(asked, name),
        "createdAt": iso(row.first_us),
        "version": text,
        "externalVersion": label,
        "fields": fields_json(facets, tags),
        "tags": _own(tags),
        "lifecycleState": text_in(facets, "lifecycleStateChange", "lifecycleStateChange"),
        "description": text_in(facets, "documentation", "description"),
        "currentSchemaVersion": schema,
        "lineageHash": lineage,
        "createdByRun": run_json(asked.catalog, run) if run else None,
        "facets": raw_facets(facets),
    }
