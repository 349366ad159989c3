"""Types of entities that are ours, as an account is told of them: jobs and runs, datasets of no known type, columns."""

from collections.abc import Iterable
from typing import Any

PROCESS = "openlineage_process"
"""A job, or what its runs make of which datasets."""
PLACEHOLDER = "openlineage_dataset"
"""A dataset for which no rule knows a type."""
COLUMN = "openlineage_column"
"""A column of these."""
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
"""Type above, texts, and what shows columns in the tab *Schema*."""

OUR_TYPES = frozenset(_TYPES)


def type_definitions(names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return some of our types as a request makes them: Purview's own `Process` has no columnMapping."""
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
    said = {"category": "ENTITY", "name": name, "superTypes": [parent]}
    defined = {"relationshipAttributeDefs": [], "attributeDefs": attributes}
    return {**said, **defined, **({"options": options} if options else {})}


def _columns_of_dataset() -> dict[str, Any]:
    """Return the relation of a dataset to its columns: they go when it goes."""
    ends = (("columns", PLACEHOLDER, "SET", True), ("table", COLUMN, "SINGLE", False))
    told = [
        {"name": name, "type": kind, "cardinality": many, "isContainer": holds, "isLegacyAttribute": False}
        for name, kind, many, holds in ends
    ]
    return {
        "category": "RELATIONSHIP", "name": f"{PLACEHOLDER}_columns", "relationshipCategory": "COMPOSITION",
        "endDef1": told[0], "endDef2": told[1],
    }  # fmt: skip
