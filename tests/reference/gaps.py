"""The columns of an output for which its run gives no source.

See docs/reference/lineage.md: every column is accounted for.
"""

from collections.abc import Callable, Iterable, Sequence

WHOLE = "*"
"""Represents all columns of an output if none are known."""

Paths = Sequence[tuple[str, ...]]
Key = Callable[[str], str]


def left_out(
    listed: Paths, others: Paths, accounted: set[str], named: set[str], key: Key, *, is_part: bool
) -> set[str]:
    """Return the keys of listed and named columns that are not accounted for.

    listed: the columns that the run itself lists. others: columns known from elsewhere. They count if `listed` is
    partial (`is_part`) or lacks an accounted column. If there are no further columns, a partial list does not show what
    it lacks, nor does
    the missing list of a producer whose lists are parts.
    """
    nested = Nested(listed, key)
    if is_part and (not listed or Nested(others, key).keys <= nested.keys):
        return {WHOLE}
    if is_part or not listed or not all(nested.is_among(each, nested.keys) for each in accounted):
        nested = Nested([*listed, *others], key)
    if not nested.keys:
        return {WHOLE}
    return {each for each in nested.keys if not nested.is_among(each, accounted)} | named


class Nested:
    """The keys of a list of columns, and how the columns are nested."""

    def __init__(self, paths: Paths, key: Key) -> None:
        self.keys = {key(".".join(path)) for path in paths}
        self.top = {key(path[0]) for path in paths if len(path) == 1}

    def is_among(self, column: str, columns: Iterable[str]) -> bool:
        """Return whether a column is one of these columns, nested in one, or a parent of one."""
        return any(
            column == other or self._is_nested(column, other) or self._is_nested(other, column) for other in columns
        )

    def _is_nested(self, column: str, other: str) -> bool:
        return column.startswith(other + ".") and column not in self.top


def is_near(column: str, columns: Iterable[str]) -> bool:
    """Return whether a column is near these columns, using only the dots in the names."""
    return any(column == other or column.startswith(other + ".") or other.startswith(column + ".") for other in columns)
