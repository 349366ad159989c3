"""Define our own types of entities: jobs and processes, datasets of unknown type, and their columns."""

from collections.abc import Iterable
from typing import Any

PROCESS = "openlineage_process"
"""A job, or a process of its runs from some datasets to others."""
PLACEHOLDER = "openlineage_dataset"
"""A dataset without a type from any rule."""
COLUMN = "openlineage_column"
"""A column of a placeholder dataset."""
_TYPES: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    PROCESS: (
        "Process",
        ("columnMapping", "openlineageRunId", "openlineageState", "jobNamespace", "jobName", "lastEventTime"),
        {},
    ),
    PLACEHOLDER: (
        "DataSet", ("openlineageNamespace", "openlineageName"), {"schemaElementsAttribute": "columns"},
    ),
    COLUMN: ("DataSet", ("data_type",), {"schemaAttributes": '["data_type"]'}),
}  # fmt: skip
"""Supertype, text attributes, and options that show columns in the tab *Schema*."""

OUR_TYPES = frozenset(_TYPES)


def type_definitions(names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the request body that creates these types; we need our own, as `Process` has no columnMapping."""
    wanted = [*names]
    empty: dict[str, list[dict[str, Any]]] = {f"{kind}Defs": [] for kind in ("enum", "struct", "classification")}
    relations = [_columns_of_dataset()] if COLUMN in wanted else []
    return {"entityDefs": [*map(_definition, wanted)], **empty, "relationshipDefs": relations}


def _definition(name: str) -> dict[str, Any]:
    parent, texts, options = _TYPES[name]
    attributes = [
        {
            "name": text, "typeName": "string", "cardinality": "SINGLE", "isOptional": True, "isUnique": False,
            "isIndexable": False, "includeInNotification": False, "valuesMinCount": 0, "valuesMaxCount": 1,
        }
        for text in texts
    ]  # fmt: skip
    entity = {"category": "ENTITY", "name": name, "superTypes": [parent]}
    defined = {"relationshipAttributeDefs": [], "attributeDefs": attributes}
    return {**entity, **defined, **({"options": options} if options else {})}


def _columns_of_dataset() -> dict[str, Any]:
    """Return the relationship of a dataset to its columns, which are deleted with the dataset."""
    ends = (("columns", PLACEHOLDER, "SET", True), ("table", COLUMN, "SINGLE", False))
    definitions = [
        {"name": name, "type": kind, "cardinality": many, "isContainer": holds, "isLegacyAttribute": False}
        for name, kind, many, holds in ends
    ]
    return {
        "category": "RELATIONSHIP", "name": f"{PLACEHOLDER}_columns", "relationshipCategory": "COMPOSITION",
        "endDef1": definitions[0], "endDef2": definitions[1],
    }  # fmt: skip
