"""The columns of an output for which its run gives no source (docs/reference/lineage.md: every column is accounted
for).
"""

from collections.abc import Callable, Iterable, Sequence

WHOLE = "*"
"""Stands for all columns of an output of which none is known."""

Paths = Sequence[tuple[str, ...]]
Key = Callable[[str], str]


def left_out(
    listed: Paths, others: Paths, accounted: set[str], named: set[str], key: Key, *, is_part: bool
) -> set[str]:
    """Return the keys of listed and named columns that are not accounted for.

    listed: by the run itself; others: what is known besides, which counts where that list is a part, or lacks a column
    that is accounted for. Without any more columns, a list that is a part says nothing of what it lacks.
    """
    nested = Nested(listed, key)
    if is_part and listed and Nested(others, key).keys <= nested.keys:
        return {WHOLE}
    if is_part or not listed or not all(nested.is_among(each, nested.keys) for each in accounted):
        nested = Nested([*listed, *others], key)
    if not nested.keys:
        return {WHOLE}
    return {each for each in nested.keys if not nested.is_among(each, accounted)} | named


class Nested:
    """The columns of a list by their keys, and which of them is nested in which."""

    def __init__(self, paths: Paths, key: Key) -> None:
        self.keys = {key(".".join(path)) for path in paths}
        self.top = {key(path[0]) for path in paths if len(path) == 1}

    def is_among(self, column: str, columns: Iterable[str]) -> bool:
        """Tell whether a column is one of these, or nested in one, or has one nested in it."""
        return any(
            column == other or self._is_nested(column, other) or self._is_nested(other, column) for other in columns
        )

    def _is_nested(self, column: str, other: str) -> bool:
        return column.startswith(other + ".") and column not in self.top


def is_near(column: str, columns: Iterable[str]) -> bool:
    """Tell the same by the dots in the names alone."""
    return any(column == other or column.startswith(other + ".") or other.startswith(column + ".") for other in columns)
