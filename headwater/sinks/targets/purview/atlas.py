"""Atlas entities: our own types, the wire format with keys and references, and the entities in responses."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, filterfalse
from typing import Any

import msgspec

PROCESS = "openlineage_process"
"""Type of a job, or of a process that connects the datasets that the job's runs read and write."""
PLACEHOLDER = "openlineage_dataset"
"""Type of a dataset for which no rule gives a type."""
COLUMN = "openlineage_column"
"""Type of a column of a dataset of type PLACEHOLDER."""
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
"""Maps each of our types to its supertype, its text attributes, and options that show columns in the tab *Schema*."""
OUR_TYPES = frozenset(_TYPES)
Entity = dict[str, Any]
Key = tuple[str, str]
"""Type and qualified name of an entity, which identify it."""


def entity_key(entity: Entity) -> Key:
    """Return the unique key of an entity."""
    return entity["typeName"], entity["attributes"]["qualifiedName"]


def deduplicate(some: Iterable[Iterable[Entity]]) -> list[Entity]:
    """Return the datasets and processes without columns, datasets first; of entities with equal keys, keep the last."""
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
    """Assign temporary guids to the entities of a request, so that columns can refer to tables in the same request."""
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
    """Return the request body that creates these types. `Process` has no columnMapping, so we need our own type."""
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
    """Return the definition of the relationship from a dataset to its columns, which are deleted with the dataset."""
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
    """An entity as Atlas returns it.

    relationship_attributes: maps the name of a relationship to type and guid of the related entities.

    custom_attributes: attributes that are not part of the type.
    """

    type_name: str
    guid: str
    attributes: dict[str, Any]
    relationship_attributes: dict[str, Any] = {}
    custom_attributes: dict[str, str] | None = None

    @property
    def qualified_name(self) -> str:
        """Return the qualified name, which is unique among entities of the same type; empty if there is none."""
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
