"""Build the proposals of a dataset: existence, schema, tags and operations; D5 and D8 in docs/reference/sinks.md."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.merging.runs import MergedEvent, facet_members, objects_in_list
from headwater.sinks.targets.datahub.aspects import (
    Aspect,
    add_tags_proposals,
    audit_stamp,
    platform_instance_proposal,
    tag_urn,
    upsert_proposal,
)

MASKED = "masked"
"""Tag of a column that is derived from masked values."""
_TYPES = {
    "string": "String", "varchar": "String", "char": "String", "text": "String", "boolean": "Boolean",
    "bool": "Boolean", "byte": "Number", "short": "Number", "smallint": "Number", "int": "Number",
    "integer": "Number", "long": "Number", "bigint": "Number", "float": "Number", "double": "Number",
    "decimal": "Number", "numeric": "Number", "date": "Date", "timestamp": "Time", "timestamp_ntz": "Time",
    "time": "Time", "binary": "Bytes", "bytes": "Bytes", "array": "Array", "map": "Map", "struct": "Map",
}  # fmt: skip
_KNOWN = frozenset({"ALTER", "CREATE", "DROP"})
"""Life cycle changes that DataHub's `OperationType` has with the same name; all other changes become CUSTOM."""


def dataset_aspects(
    urn: str, facets: Facets, instance: str | None, time_us: int, *, schemas: bool, masked: Collection[str]
) -> Iterator[Aspect]:
    """Yield the proposals for one dataset.

    instance: platform instance, or None. time_us: time of the schema (us, UTC). schemas: whether to include the schema.
    masked: columns of the dataset that are derived from masked values.
    """
    platform, name, env = urn.removeprefix("urn:li:dataset:(").removesuffix(")").split(",")
    yield upsert_proposal(urn, "datasetKey", {"platform": platform, "name": name, "origin": env})
    yield upsert_proposal(urn, "status", {"removed": False})
    if instance:
        yield platform_instance_proposal(urn, platform, instance)
    fields = [*_schema_fields(facet_members(facets, "schema").get("fields"))]
    if schemas and fields:
        tags = _tags_with_columns(facets) + [(name, tag_urn(MASKED)) for name in masked]
        yield upsert_proposal(urn, "schemaMetadata", _schema_aspect(platform, name, fields, tags, time_us))
    yield from add_tags_proposals(urn, (tag for field, tag in _tags_with_columns(facets) if field is None))


def tags_of_entity(facets: Facets) -> list[str]:
    """Return the tags of a job, or of a dataset as a whole."""
    return [tag for field, tag in _tags_with_columns(facets) if field is None]


def _tags_with_columns(facets: Facets) -> list[tuple[str | None, str]]:
    """Return pairs of column and tag URN; the column is None for a tag of the whole entity.

    A tag with a value becomes `key:value`.
    """
    found: list[tuple[str | None, str]] = []
    for each in objects_in_list(facet_members(facets, "tags").get("tags")):
        key, value = each.get("key"), each.get("value")
        if isinstance(key, str) and key:
            plain = value is None or str(value).lower() == "true"
            found.append((each.get("field"), tag_urn(key if plain else f"{key}:{value}")))
    return found


def _schema_fields(value: Any, inside: str = "") -> Iterator[tuple[str, str, str | None]]:
    """Yield the path, type and description (or None) of each column as sent.

    Nested fields follow their struct and have a dotted path.
    """
    for field in objects_in_list(value):
        name = field.get("name")
        if isinstance(name, str):
            text = field.get("description")
            yield f"{inside}{name}", str(field.get("type") or ""), text if isinstance(text, str) else None
            yield from _schema_fields(field.get("fields"), f"{inside}{name}.")


def _schema_aspect(
    platform: str,
    name: str,
    fields: list[tuple[str, str, str | None]],
    tags: list[tuple[str | None, str]],
    time_us: int,
) -> Aspect:
    text = "\n".join(f"{path} {kind}" for path, kind, _ in fields)
    return {
        "schemaName": name,
        "platform": platform,
        "version": 0,
        "created": audit_stamp(time_us),
        "lastModified": audit_stamp(time_us),
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "platformSchema": {"com.linkedin.schema.MySqlDDL": {"tableSchema": text}},
        "fields": [_field_aspect(*field, sorted({tag for on, tag in tags if on == field[0]})) for field in fields],
    }


def _field_aspect(path: str, kind: str, description: str | None, tags: list[str]) -> Aspect:
    base = kind.lower().partition("(")[0].partition("<")[0].strip()
    found: Aspect = {
        "fieldPath": path,
        "nullable": True,
        "type": {"type": {f"com.linkedin.schema.{_TYPES.get(base, 'Null')}Type": {}}},
        "nativeDataType": kind,
        "recursive": False,
        "isPartOfKey": False,
    }
    if description is not None:
        found["description"] = description
    return found | ({"globalTags": {"tags": [{"tag": tag} for tag in tags]}} if tags else {})


def operation_aspects(merged: MergedEvent, known: Mapping[Name, str], outputs: Collection[str]) -> Iterator[Aspect]:
    """Yield the proposals for a completed run's operations on outputs that have statistics or a life cycle change.

    known: maps the name of each dataset to its URN. outputs: URNs of the outputs that count.
    """
    if merged.completed_us is None:
        return
    for name, facets in merged.outputs.items():
        operation = _operation_aspect(facets, merged.output_facets.get(name, {}), merged.completed_us // 1000)
        if operation and known[name] in outputs:
            yield upsert_proposal(known[name], "operation", operation)


def _operation_aspect(facets: Facets, of_run: Facets, time_ms: int) -> Aspect | None:
    change = text_at(facet_members(facets, "lifecycleStateChange"), "lifecycleStateChange")
    counted = facet_members(of_run, "outputStatistics")
    if not change and not counted:
        return None
    kind = change.upper() if change else "WRITE"
    found: Aspect = {
        "timestampMillis": time_ms,
        "lastUpdatedTimestamp": time_ms,
        "actor": "urn:li:corpuser:datahub",
        "operationType": kind if kind in _KNOWN else "CUSTOM",
    }
    if kind not in _KNOWN:
        found["customOperationType"] = kind
    if (rows := _int_or_none(counted.get("rowCount"))) is not None:
        found["numAffectedRows"] = rows
    statistics = {
        "numAffectedBytes": _int_or_none(counted.get("size")),
        "fileCount": _int_or_none(counted.get("fileCount")),
    }
    properties = ({"lifecycleStateChange": kind} if change else {}) | {
        key: str(value) for key, value in statistics.items() if value is not None
    }
    return found | ({"customProperties": properties} if properties else {})


def _int_or_none(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
