"""The wire format of entities: keys, references, and guids within a request."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, filterfalse
from typing import Any

from headwater.sinks.targets.purview.entity_types import PROCESS

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


def reference(kind: str, qualified_name: str) -> Entity:
    """Return a reference to an existing entity."""
    return {"typeName": kind, "uniqueAttributes": {"qualifiedName": qualified_name}}


def reference_key(found: Mapping[str, Any]) -> Key:
    """Return the key of the asset that a reference points to."""
    return found["typeName"], found["uniqueAttributes"]["qualifiedName"]


def assign_guids(entities: Sequence[Entity]) -> list[Entity]:
    """Assign temporary guids within a request, by which columns refer to tables that the same request creates."""
    guids = {entity_key(each): f"-{number}" for number, each in enumerate(entities, 1)}
    return [_related(each, guids) | {"guid": guids[entity_key(each)]} for each in entities]


def _related(entity: Entity, guids: Mapping[Key, str]) -> Entity:
    related: dict[str, Entity] = entity.get("relationshipAttributes", {})
    here = {
        name: {"typeName": each["typeName"], "guid": guids[reference_key(each)]}
        for name, each in related.items()
        if reference_key(each) in guids
    }
    return entity | {"relationshipAttributes": related | here} if here else entity
