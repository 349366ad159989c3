"""Entities as they go over the wire: what they are, how they refer to each other, their numbers in a request."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, filterfalse
from typing import Any

from headwater.sinks.targets.purview.purview_types import PROCESS

Entity = dict[str, Any]
Key = tuple[str, str]
"""Type and qualified name."""


def entity_key(entity: Entity) -> Key:
    """Return by what an entity is known."""
    return entity["typeName"], entity["attributes"]["qualifiedName"]


def united(some: Iterable[Iterable[Entity]]) -> list[Entity]:
    """Unite datasets and processes, of equal ones the last, datasets first: a request must not name one twice."""
    found: dict[Key, Entity] = {}
    for entity in filterfalse(is_column, chain.from_iterable(some)):
        found.pop(entity_key(entity), None)
        found[entity_key(entity)] = entity
    return sorted(found.values(), key=is_process)


def is_process(entity: Entity) -> bool:
    """Tell what refers to datasets from these."""
    return bool(entity["typeName"] == PROCESS)


def is_column(entity: Entity) -> bool:
    """Tell columns from tables and processes."""
    return "relationshipAttributes" in entity


def reference(kind: str, qualified_name: str) -> Entity:
    """Return a reference to what is there."""
    return {"typeName": kind, "uniqueAttributes": {"qualifiedName": qualified_name}}


def reference_key(told: Mapping[str, Any]) -> Key:
    """Return which asset a reference of ours is to."""
    return told["typeName"], told["uniqueAttributes"]["qualifiedName"]


def numbered(entities: Sequence[Entity]) -> list[Entity]:
    """Return the entities of one request with guids of its own, by which columns refer to tables that it makes, too."""
    guids = {entity_key(each): f"-{number}" for number, each in enumerate(entities, 1)}
    return [_related(each, guids) | {"guid": guids[entity_key(each)]} for each in entities]


def _related(entity: Entity, guids: Mapping[Key, str]) -> Entity:
    related: dict[str, Entity] = entity.get("relationshipAttributes", {})
    here = {
        name: {"typeName": told["typeName"], "guid": guids[reference_key(told)]}
        for name, told in related.items()
        if reference_key(told) in guids
    }
    return entity | {"relationshipAttributes": related | here} if here else entity
