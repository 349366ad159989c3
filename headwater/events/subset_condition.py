"""The columns in the condition of a `subset` facet (InputSubsetInputDatasetFacet 1-0-0), and in names of folders."""

from typing import Any
from urllib.parse import unquote

SUBSET = "subset"
FILTERED = "subset:"
"""Begins an entry of a stored list of facets that names a column of the condition."""


def condition_columns(facet: Any) -> tuple[str, ...]:
    """Return the columns of an input's condition, sorted; nothing of what is not as the facet's schema has it."""
    found: set[str] = set()
    todo = [facet.get("inputCondition")] if isinstance(facet, dict) else []
    while todo:
        condition = todo.pop()
        if isinstance(condition, dict):
            todo += [condition.get("left"), condition.get("right")]
            found.update(_own_columns(condition))
    return tuple(sorted(found))


def folder_columns(path: str) -> set[str]:
    """Return the columns that the folders of a path hold values of, as in `day=2026-03-01`."""
    pairs = (part.partition("=") for part in path.split("/"))
    return {unquote(column) for column, equals, _ in pairs if column and equals}


def _own_columns(condition: dict[str, Any]) -> set[str]:
    """Return the columns of a field, of partitions or of locations."""
    field, found = condition.get("field"), set[str]()
    if isinstance(field, str) and field:
        found.add(field)
    for partition in _listed(condition.get("partitions")):
        dimensions = partition.get("dimensions") if isinstance(partition, dict) else None
        found.update(filter(None, dimensions) if isinstance(dimensions, dict) else ())
    for location in _listed(condition.get("locations")):
        found |= folder_columns(location) if isinstance(location, str) else set()
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
