"""Splits an event into the part that the core schema defines, and its facets."""

from collections.abc import Iterator, Mapping
from typing import Any

PathStep = str | int
Path = tuple[PathStep, ...]

FACET_MAPS = ("facets", "inputFacets", "outputFacets")

_ENTITIES = ("run", "job", "dataset")
_DATASETS = ("inputs", "outputs")
_EVENT_KEYS = ("eventTime", "eventType", "producer", "schemaURL")
_ENTITY_KEYS = frozenset({"runId", "namespace", "name", *FACET_MAPS})
_BASE_KEYS = ("_producer", "_schemaURL", "_deleted")


def event_kind(event: Mapping[str, Any]) -> str | None:
    """Return the type of an event, such as `RunEvent`, by its members; None if it has no run, job or dataset.

    `schemaURL` is not read, because it is often missing or wrong.
    """
    if "run" in event and ("job" in event or "dataset" not in event):
        return "RunEvent"
    if "job" in event:
        return "JobEvent"
    return "DatasetEvent" if "dataset" in event else None


def core_part(event: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the part that the core schema defines.

    The copied facets have only their base members (`_producer`, `_schemaURL`, `_deleted`). So large or deeply nested
    custom facets cost nothing, and cannot prevent the check of the other parts.
    """
    core = {key: _scalar_or_empty(event[key]) for key in _EVENT_KEYS if key in event}
    core |= {key: _core_of_entity(event[key]) for key in _ENTITIES if key in event}
    core |= {key: _core_of_datasets(event[key]) for key in _DATASETS if key in event}
    return core


def facets_with_paths(event: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield (path, facet) for every facet that is a JSON object. The path ends with the facet's key."""
    for path, entity in _entities_with_paths(event):
        for kind in FACET_MAPS:
            facets = entity.get(kind)
            if isinstance(facets, dict):
                yield from (((*path, kind, key), each) for key, each in facets.items() if isinstance(each, dict))


def _entities_with_paths(event: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for key in _ENTITIES:
        if isinstance(event.get(key), dict):
            yield (key,), event[key]
    for key in _DATASETS:
        if isinstance(event.get(key), list):
            yield from (((key, at), each) for at, each in enumerate(event[key]) if isinstance(each, dict))


def _core_of_datasets(value: object) -> object:
    return [_core_of_entity(each) for each in value] if isinstance(value, list) else _scalar_or_empty(value)


def _core_of_entity(value: object) -> object:
    if not isinstance(value, dict):
        return _scalar_or_empty(value)
    return {
        k: _base_members_of_facets(v) if k in FACET_MAPS else _scalar_or_empty(v)
        for k, v in value.items()
        if k in _ENTITY_KEYS
    }


def _base_members_of_facets(facets: object) -> object:
    return (
        {key: _base_members(facet) for key, facet in facets.items()}
        if isinstance(facets, dict)
        else _scalar_or_empty(facets)
    )


def _base_members(facet: object) -> object:
    if not isinstance(facet, dict):
        return _scalar_or_empty(facet)
    return {key: _scalar_or_empty(facet[key]) for key in _BASE_KEYS if key in facet}


def _scalar_or_empty(value: object) -> object:
    """Return a scalar unchanged. An object or array, which is invalid here, is replaced by an empty object or array."""
    return type(value)() if isinstance(value, dict | list) else value
