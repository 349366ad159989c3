"""Datasets, their versions, and the input fields of their columns."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from headwater.api.marquez.nodes import version_text
from headwater.api.marquez.requests import Answer, RequestContext, not_found_error
from headwater.api.marquez.runs import DeferredAnswer, run_json, with_run_facets
from headwater.api.marquez.texts import raw_facets, schema_fields, text_in, url_in
from headwater.events.facet_sets import OF_COLUMNS
from headwater.events.times import iso_time
from headwater.index.reading.catalog_history import VersionRow, undescribed_versions
from headwater.index.stored.database import DATASET
from headwater.index.stored.versions import version_value_from
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import Tag
from headwater.lineage.snapshots.as_of import View
from headwater.questions.neighbourhood import steps_into_column

SCHEMA_LOCATION = "headwater_schemaLocation"
"""Name of the facet that stores the `schemaLocation` of a declared stream."""

_STREAMS = ("kafka", "pulsar", "kinesis", "eventhub", "pubsub")


def dataset_json(context: RequestContext, name: Name, *, lineage: bool = True) -> Answer:
    """Return a dataset. lineage: include column lineage, as `columnLineage` and as facet."""
    names = context.names_of(name)
    facets = context.catalog.dataset_facets(name, excluded=() if lineage else OF_COLUMNS)
    span = context.catalog.usage_span(DATASET, names) or (None, None)
    tags = context.catalog.tags(name, names)
    version, written_us = context.catalog.versions.newest_version(name, names)
    return {
        "id": name.as_json,
        **_type_and_name(name, facets),
        **_display_name(context, name),
        "createdAt": iso_time(span[0]),
        "updatedAt": iso_time(span[1]),
        "fields": fields_json(facets, tags),
        "tags": _dataset_tags(tags),
        "lastModifiedAt": iso_time(written_us),
        "lastLifecycleState": text_in(facets, "lifecycleStateChange", "lifecycleStateChange"),
        "description": text_in(facets, "documentation", "description"),
        "currentVersion": version_text(version),
        "columnLineage": column_lineage_json(context.view, name) if lineage else None,
        "facets": raw_facets(facets),
        "deleted": _is_deleted(context, name, span[1]),
    }


def _is_deleted(context: RequestContext, name: Name, last_us: int | None) -> bool:
    """Return whether a dataset is dropped, and no event has named the dataset since its deletion by hand."""
    if context.view.snapshot.exists(name):
        return False
    deleted_us = context.catalog.deleted_us(name)
    return deleted_us is None or last_us is None or last_us <= deleted_us


def _type_and_name(name: Name, facets: Mapping[str, str]) -> Answer:
    sent = text_in(facets, "datasetType", "datasetType") or ""
    is_stream = name.namespace.partition(":")[0] in _STREAMS or sent.upper() in ("STREAM", "TOPIC")
    return {
        "type": "STREAM" if is_stream else "DB_TABLE",
        "name": name.name,
        "physicalName": name.name,
        "namespace": name.namespace,
        "sourceName": text_in(facets, "dataSource", "name") or name.namespace,
        **({"schemaLocation": url_in(facets, SCHEMA_LOCATION, "url")} if is_stream else {}),
    }


def _display_name(context: RequestContext, name: Name) -> Answer:
    """Return the display name if it differs from the canonical name."""
    shown = context.catalog.live.display_names(context.view.rules.names).display_name(name)
    return {} if shown == name.name else {"displayName": shown}


def _dataset_tags(tags: Sequence[Tag]) -> list[str]:
    """Return the names of the tags of the dataset itself, without the tags of its columns."""
    return sorted({tag.key for tag in tags if tag.column is None})


def fields_json(facets: Mapping[str, str], tags: Sequence[Tag]) -> list[dict[str, Any]] | Raw:
    """Return the columns of a schema with their tags. If no column has a tag, the result is encoded JSON and cached."""
    if any(tag.column is not None for tag in tags):
        return _fields_with_tags(facets, tags)
    return _encoded_fields(facets.get("schema", ""))


def columns_json(context: RequestContext, name: Name) -> list[dict[str, Any]]:
    """Return the columns of a dataset's newest schema with their tags. They are not encoded, so you can edit them."""
    return _fields_with_tags(context.catalog.dataset_facets(name), context.catalog.tags(name, context.names_of(name)))


@lru_cache(1024)
def _encoded_fields(schema: str) -> Raw:
    return Raw(msgspec.json.encode(_fields_with_tags({"schema": schema}, ())))


def _fields_with_tags(facets: Mapping[str, str], tags: Sequence[Tag]) -> list[dict[str, Any]]:
    by_column: dict[str, set[str]] = {}
    for tag in tags:
        if tag.column is not None:
            by_column.setdefault(tag.column.casefold(), set()).add(tag.key)
    return [
        {
            "name": field["name"],
            "type": _string_or_none(field.get("type")),
            "tags": sorted(by_column.get(field["name"].casefold(), ())),
            "description": _string_or_none(field.get("description")),
        }
        for field in schema_fields(facets)
    ]


def _string_or_none(sent: object) -> str | None:
    """Return a value if it is a string, else None. Clients accept only strings here."""
    return sent if isinstance(sent, str) else None


def list_datasets(context: RequestContext) -> Answer:
    """GET /namespaces/{namespace}/datasets, by name."""
    page, namespace = context.list_range(), context.namespace()
    names, total = context.catalog.lists.datasets(namespace, page.limit, page.offset)
    return page.list_answer("datasets", [dataset_json(context, Name(namespace, name)) for name in names], total)


def get_dataset(context: RequestContext) -> Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}."""
    return dataset_json(context, context.dataset())


def list_versions(context: RequestContext) -> DeferredAnswer | Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}/versions, last written first."""
    name, page = context.dataset(), context.list_range()
    number = context.catalog.number_of_name(name)
    rows = context.catalog.versions.versions(DATASET, number, page.limit, page.offset)
    written = context.catalog.versions.count_versions(DATASET, number)
    before = _versions_before_first_write(context, name)
    rows += before[max(0, page.offset - written) :][: page.limit - len(rows)]
    total = written + len(before)
    shown = [_version_json(context, name, row) for row in rows]
    return page.list_answer("versions", shown, total)


def get_version(context: RequestContext) -> DeferredAnswer | Answer:
    """GET /namespaces/{namespace}/datasets/{dataset}/versions/{version}."""
    name = context.dataset()
    row = find_version(context, name, context.path["version"])
    if row is None:
        raise not_found_error("Dataset version", context.path["version"])
    shown = _version_json(context, name, row)
    run = context.catalog.runs.run_by_key(row.run)
    if run is None:
        return shown
    return with_run_facets(context, [run], [shown["createdByRun"]], lambda: shown)


def find_version(context: RequestContext, name: Name, version: str) -> VersionRow | None:
    """Return a version of a dataset by its UUID."""
    known = context.catalog.versions.versions(DATASET, context.catalog.number_of_name(name), -1)
    known += _versions_before_first_write(context, name) + _undescribed_versions(context, name)
    return next((row for row in known if version_text(row.version) == version.lower()), None)


def _versions_before_first_write(context: RequestContext, name: Name) -> list[VersionRow]:
    """Return the versions of a dataset from before the first observed write."""
    written_us = context.catalog.versions.first_written_us(name)
    found = context.catalog.versions.schema_only_versions(name, context.names_of(name)) or _undescribed_versions(
        context, name
    )
    return found if written_us is None else [row for row in found if row.first_us < written_us]


def _undescribed_versions(context: RequestContext, name: Name) -> list[VersionRow]:
    return undescribed_versions(name, context.catalog.usage_span(DATASET, context.names_of(name)))


def _version_json(context: RequestContext, name: Name, row: VersionRow) -> Answer:
    schema, lineage, label = version_value_from(row.packed_value)
    facets = context.catalog.facets_of_version(context.names_of(name), schema)
    run = context.catalog.runs.run_by_key(row.run) if row.run else None
    text, tags = version_text(row.version), context.catalog.tags(name, context.names_of(name))
    return {
        "id": {**name.as_json, "version": text},
        **_type_and_name(name, facets),
        **_display_name(context, name),
        "createdAt": iso_time(row.first_us),
        "version": text,
        "externalVersion": label,
        "fields": fields_json(facets, tags),
        "tags": _dataset_tags(tags),
        "lifecycleState": text_in(facets, "lifecycleStateChange", "lifecycleStateChange"),
        "description": text_in(facets, "documentation", "description"),
        "currentSchemaVersion": schema,
        "lineageHash": lineage,
        "createdByRun": run_json(context.catalog, run) if run else None,
        "facets": raw_facets(facets),
    }


def transformation_json(transformation: Transformation) -> dict[str, Any]:
    """Return a transformation in OpenLineage's form."""
    kind = "DIRECT" if transformation.is_direct else "INDIRECT"
    return {
        "type": kind,
        "subtype": transformation.subtype,
        "description": transformation.description,
        "masking": transformation.is_masked,
    }


def legacy_transformation_type(transformation: Transformation) -> str:
    """Return Marquez's `transformationType`, which OpenLineage has replaced by type and subtype."""
    if transformation.is_masked:
        return "MASKED"
    return (
        "IDENTITY"
        if transformation.subtype in ("IDENTITY", "") or transformation.subtype is None
        else transformation.subtype
    )


def input_fields_json(view: View, node: int) -> list[dict[str, Any]]:
    """Return the input fields of a column, each with all its transformations."""
    graph, snapshot = view.snapshot.graph, view.snapshot
    found: dict[int, dict[str, Any]] = {}
    for feed in steps_into_column(graph, node, view.counted_edges):
        transformation = feed.transformation
        if feed.node not in found:
            number, key = graph.columns[feed.node]
            name = graph.names[number].without_generation
            found[feed.node] = {
                **name.as_json,
                "dataset": name.name,
                "field": snapshot.shown_columns(name).displayed_spelling(key or ""),
                "transformationDescription": transformation.description,
                "transformationType": legacy_transformation_type(transformation),
                "transformations": [],
            }
        found[feed.node]["transformations"].append(transformation_json(transformation))
    return sorted(found.values(), key=lambda each: (each["namespace"], each["dataset"], each["field"]))


def column_lineage_json(view: View, dataset: Name) -> list[dict[str, Any]] | None:
    """Return the input fields of each column of a dataset; None without column lineage."""
    graph = view.snapshot.graph
    number = view.counted_edges.lifetimes.existing_generation(dataset)
    if number is None:
        return None
    columns = view.snapshot.shown_columns(dataset)
    found = []
    for node in graph.nodes_of(number):
        fields = input_fields_json(view, node)
        if fields:
            first = {key: fields[0][key] for key in ("transformationDescription", "transformationType")}
            found.append(
                {"name": columns.displayed_spelling(graph.columns[node].key or ""), "inputFields": fields, **first}
            )
    return sorted(found, key=lambda each: str(each["name"])) or None
