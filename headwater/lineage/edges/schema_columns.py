"""Rule 12: the columns of a dataset as they are spelled, their keys and their nesting."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy

Path = tuple[str, ...]
"""A column of a schema: its name, behind the names of the structs it is nested in."""


class Columns:
    """The columns of one dataset (rule 12.7); without a list there are none."""

    def __init__(self, paths: Sequence[Path]):
        """Take a schema as `Contents.schema` gives it."""
        self.names = tuple(".".join(path) for path in paths)
        self._told_apart = told_apart(paths)
        self.by_key: dict[str, str] = {}
        for name in self.names:
            self.by_key.setdefault(self.key(name), name)  # an array stands for its elements
        self.nests = any(len(path) > 1 for path in paths)
        self.top_level = frozenset(self.key(path[0]) for path in paths if len(path) == 1)
        self._unlisted: Mapping[str, str] = {}

    def key(self, column: str) -> str:
        """Return what equal columns share: see `column_key`."""
        return column_key(column, self._told_apart)

    def matches_like(self, other: "Columns") -> bool:
        """Tell whether the same names are equal columns in both."""
        return self._told_apart == other._told_apart

    def with_unlisted(self, spellings: Mapping[str, str]) -> "Columns":
        """Return the same columns, which also know the spellings, by key, of columns that the schema does not list."""
        found = copy(self)
        found._unlisted = spellings
        return found

    def with_more(self, spellings: Mapping[str, str]) -> "Columns":
        """Return the same columns, and behind them others by their keys."""
        more = {key: shown for key, shown in spellings.items() if key not in self.by_key}
        if not more:
            return self
        found = copy(self)
        found.by_key = self.by_key | more
        return found

    def shown(self, key: str) -> str:
        """Return a column as the schema spells it, else as lineage does, else in lower case."""
        return self.by_key.get(key) or self._unlisted.get(key, key)


_ELEMENT, _KEY, _VALUE = "_element", "_key", "_value"
"""How a schema names what an array and a map hold (SchemaDatasetFacet 1-1-1); lineage leaves these parts out."""

_MAP = "*"
"""Before the path of a map, among what `told_apart` returns."""


def column_key(column: str, exact: Collection[str]) -> str:
    """Return what equal columns share; exact: what `told_apart` says of the newest schema.

    That is the path without double quotes around it and without the parts for the elements of arrays and the values of
    maps, casefolded unless the schema has two columns that differ by case.
    """
    plain = _plain(column, exact)
    folded = plain.casefold()
    return plain if folded in exact else folded


def _plain(column: str, exact: Collection[str]) -> str:
    """Return a path without what spellings of one column differ in; double quotes are how SQL delimits a name."""
    if column.startswith('"') and len(column) > 2 and column.find('"', 1) == len(column) - 1:
        column = column[1:-1]
    return _without_elements(column, exact) if "._" in column else column


def _without_elements(column: str, exact: Collection[str]) -> str:
    """Leave out `_element`, and `_value` of a map: a struct may have a field of that name."""
    first, *parts = column.split(".")
    kept = [first]
    for part in parts:
        folded = part.casefold()
        if folded != _ELEMENT and (folded != _VALUE or _MAP + ".".join(kept).casefold() not in exact):
            kept.append(part)
    return ".".join(kept)


def told_apart(columns: Sequence[Path]) -> frozenset[str]:
    """Return the casefolded names that stand for two columns, and the paths of maps."""
    maps = _maps(columns)
    spellings: dict[str, set[str]] = {}
    for path in columns:
        plain = _plain(".".join(path), maps)
        spellings.setdefault(plain.casefold(), set()).add(plain)
    return maps.union(folded for folded, same in spellings.items() if len(same) > 1)


def _maps(columns: Sequence[Path]) -> frozenset[str]:
    if not any(path[-1] == _VALUE for path in columns):
        return frozenset()
    within: dict[str, set[str]] = {}
    for path in columns:
        if len(path) > 1:
            within.setdefault(".".join(path[:-1]), set()).add(path[-1])
    found = set[str]()
    for parent in sorted(within, key=len):  # a map may lie in another
        if within[parent] == {_KEY, _VALUE}:
            found.add(_MAP + _without_elements(parent, found).casefold())
    return frozenset(found)


def maps_among(exact: Collection[str]) -> frozenset[str]:
    """Return the maps among what `told_apart` returns."""
    return frozenset(each for each in exact if each.startswith(_MAP))


def in_values(columns: Sequence[Path], maps: Collection[str]) -> list[Path]:
    """Return the columns of a list that may not show some maps: what lies in a map lies in its values.

    maps: as `maps_among` returns them. A map among the columns gets its `_key` and `_value`.
    """
    found: dict[Path, None] = {}
    for path in columns:
        whole: Path = ()
        for part in path:
            if whole and part.casefold() not in (_KEY, _VALUE) and _map_at(whole, maps):
                whole = (*whole, _VALUE)
                if part.casefold() == _ELEMENT:
                    continue
            whole = (*whole, part)
        found[whole] = None
        if _map_at(whole, maps):
            found |= dict.fromkeys([(*whole, _KEY), (*whole, _VALUE)])
    return list(found)


def _map_at(path: Path, maps: Collection[str]) -> bool:
    return (
        path[-1].casefold() not in (_VALUE, _ELEMENT)
        and _MAP + _without_elements(".".join(path), maps).casefold() in maps
    )


def parents(key: str, top_level: frozenset[str]) -> list[str]:
    """Return the structs that a column is nested in, outermost first; an exact top-level name has none."""
    if key in top_level:
        return []
    parts = key.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


NO_COLUMNS = Columns(())
"""Of a dataset whose schema nobody told."""
