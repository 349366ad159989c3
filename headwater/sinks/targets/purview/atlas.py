"""Atlas entities: our own types, the wire format with keys and references, and the entities in responses."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, filterfalse
from typing import Any

import msgspec

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
Entity = dict[str, Any]
Key = tuple[str, str]
"""Type and qualified name."""


def entity_key(entity: Entity) -> Key:
    """Return the unique key of an entity."""
    return entity["typeName"], entity["attributes"]["qualifiedName"]


def deduplicate(some: Iterable[Iterable[Entity]]) -> list[Entity]:
    """Return datasets and processes without repeats, datasets first; the last of equal entities wins."""
    found: dict[Key, Entity] = {}
    for entity in filterfalse(is_column, chain.from_iterable(some)):
        found.pop(entity_key(entity), None)
        found[entity_key(entity)] = entity
    return sorted(found.values(), key=is_process)


def is_process(entity: Entity) -> bool:
    """Return whether an entity is one of our processes, which refer to datasets."""
    return bool(entity["typeName"] == PROCESS)


def is_column(entity: Entity) -> bool:
    """Return whether an entity is a column."""
    return "relationshipAttributes" in entity


def entity_reference(kind: str, qualified_name: str) -> Entity:
    """Return a reference to an existing entity."""
    return {"typeName": kind, "uniqueAttributes": {"qualifiedName": qualified_name}}


def reference_key(found: Mapping[str, Any]) -> Key:
    """Return the key of the asset that a reference points to."""
    return found["typeName"], found["uniqueAttributes"]["qualifiedName"]


def assign_guids(entities: Sequence[Entity]) -> list[Entity]:
    """Assign temporary guids within a request, by which columns refer to tables that the same request creates."""
    guids = {entity_key(each): f"-{number}" for number, each in enumerate(entities, 1)}
    return [_with_table_guid(each, guids) | {"guid": guids[entity_key(each)]} for each in entities]


def _with_table_guid(entity: Entity, guids: Mapping[Key, str]) -> Entity:
    related: dict[str, Entity] = entity.get("relationshipAttributes", {})
    here = {
        name: {"typeName": each["typeName"], "guid": guids[reference_key(each)]}
        for name, each in related.items()
        if reference_key(each) in guids
    }
    return entity | {"relationshipAttributes": related | here} if here else entity


def type_definitions(names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the request body that creates these types; we need our own, as `Process` has no columnMapping."""
    wanted = [*names]
    empty: dict[str, list[dict[str, Any]]] = {f"{kind}Defs": [] for kind in ("enum", "struct", "classification")}
    relations = [_dataset_columns_definition()] if COLUMN in wanted else []
    return {"entityDefs": [*map(_type_definition, wanted)], **empty, "relationshipDefs": relations}


def _type_definition(name: str) -> dict[str, Any]:
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


def _dataset_columns_definition() -> dict[str, Any]:
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


class AtlasEntity(msgspec.Struct, rename="camel"):
    """An entity as Atlas returns it. relationship_attributes: type and guid of related entities, by relationship.

    custom_attributes: attributes that are not part of the type.
    """

    type_name: str
    guid: str
    attributes: dict[str, Any]
    relationship_attributes: dict[str, Any] = {}
    custom_attributes: dict[str, str] | None = None

    @property
    def qualified_name(self) -> str:
        """Return the unique name among entities of the same type."""
        return str(self.attributes.get("qualifiedName", ""))


class FoundAsset(msgspec.Struct, rename="camel"):
    """An asset in a search result."""

    qualified_name: str = ""
    entity_type: str = ""


class AtlasEntities(msgspec.Struct):
    """Assets as Atlas returns them."""

    entities: list[AtlasEntity] = []


class FoundAssets(msgspec.Struct):
    """A search result."""

    value: list[FoundAsset] = []
