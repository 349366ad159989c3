"""Rule 12 over newest schemas that are known: columns as spelt, their keys, their nesting."""

from collections.abc import Collection, Iterable, Sequence

from headwater.lineage.edges.facet_contents import Path


class Columns:
    """The columns of one dataset's newest schema; without a schema there are none."""

    def __init__(self, paths: Sequence[Path]):
        """Take a schema as `Contents.schema` gives it."""
        self.names = tuple(".".join(path) for path in paths)
        self._told_apart = told_apart(self.names)
        self.by_key = {self.key(name): name for name in self.names}
        self.nests = any(len(path) > 1 for path in paths)
        self.top_level = frozenset(self.key(path[0]) for path in paths if len(path) == 1)

    def key(self, column: str) -> str:
        """Return what equal columns share: casefolded, unless the schema tells two apart by case."""
        return column_key(column, self._told_apart)

    def matches_like(self, other: "Columns") -> bool:
        """Tell whether the same names are equal columns in both."""
        return self._told_apart == other._told_apart

    def shown(self, key: str) -> str:
        """Return a column as the schema intervals it, as it was sent if the schema has it no more."""
        return self.by_key.get(key, key)


def column_key(column: str, exact: Collection[str]) -> str:
    """Return what equal columns share; exact: what `told_apart` says of the newest schema."""
    folded = column.casefold()
    return column if folded in exact else folded


def told_apart(columns: Iterable[str]) -> frozenset[str]:
    """Return the casefolded names that stand for two columns."""
    spellings: dict[str, set[str]] = {}
    for column in columns:
        spellings.setdefault(column.casefold(), set()).add(column)
    return frozenset(folded for folded, same in spellings.items() if len(same) > 1)


def parents(key: str, top_level: frozenset[str]) -> list[str]:
    """Return the structs that a column is nested in, outermost first; an exact top-level name has none."""
    if key in top_level:
        return []
    parts = key.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


NO_COLUMNS = Columns(())
"""Of a dataset whose schema nobody told."""
