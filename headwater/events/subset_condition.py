"""Extracts columns from the condition of a `subset` facet (InputSubsetInputDatasetFacet 1-0-0) and folder names."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

SUBSET = "subset"
FILTERED = "subset:"
"""Prefix of entries in `UsedDataset.counted` that are columns of the condition."""
PARTS_READ = "subset of parts"
"""Entry in `UsedDataset.counted` if the condition of an input names partitions or locations."""


def condition_columns(facet: Any) -> tuple[str, ...]:
    """Return the sorted columns in the condition of an input. Ignores parts that violate the facet's schema."""
    return tuple(sorted(set[str]().union(*map(_own_columns, _nested_conditions(facet)))))


def names_partitions_or_locations(facet: Any) -> bool:
    """Whether the condition of an input names partitions or locations.

    Only datasets that consist of parts have them.
    """
    return any(
        any(isinstance(each, dict) for each in _list_or_empty(condition.get("partitions")))
        or any(isinstance(each, str) for each in _list_or_empty(condition.get("locations")))
        for condition in _nested_conditions(facet)
    )


def folder_columns(path: str) -> set[str]:
    """Return the partition columns in a path, such as `day` in `day=2026-03-01`."""
    pairs = (part.partition("=") for part in path.split("/"))
    return {unquote(column) for column, equals, _ in pairs if column and equals}


def _nested_conditions(facet: Any) -> Iterator[dict[str, Any]]:
    """Yield the condition of an input, and all conditions that are nested in it."""
    todo = [facet.get("inputCondition")] if isinstance(facet, dict) else []
    while todo:
        condition = todo.pop()
        if isinstance(condition, dict):
            todo += [condition.get("left"), condition.get("right")]
            yield condition


def _own_columns(condition: dict[str, Any]) -> set[str]:
    """Return the columns in `field`, `partitions` and `locations` of a condition."""
    field, found = condition.get("field"), set[str]()
    if isinstance(field, str) and field:
        found.add(field)
    for partition in _list_or_empty(condition.get("partitions")):
        dimensions = partition.get("dimensions") if isinstance(partition, dict) else None
        found.update(filter(None, dimensions) if isinstance(dimensions, dict) else ())
    for location in _list_or_empty(condition.get("locations")):
        found |= folder_columns(location) if isinstance(location, str) else set()
    return found


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
