"""Rule 12: the columns of a dataset with their spellings, keys and nesting."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy

Path = tuple[str, ...]
"""The path of a column in a schema: the names of the structs around it, the outermost first, then its own name."""


class Columns:
    """The columns of one dataset (rule 12.7); empty if no event lists any.

    names: the listed names, with dots between the parts.
    by_key: the listed spelling of each column, by key.
    """

    def __init__(self, paths: Sequence[Path]):
        """paths: as `Contents.schema` returns them."""
        self.names = tuple(".".join(path) for path in paths)
        self._told_apart = told_apart(paths)
        self.by_key: dict[str, str] = {}
        for name in self.names:
            self.by_key.setdefault(self.key(name), name)  # an array and its elements have the same key
        self.nests = any(len(path) > 1 for path in paths)
        self.top_level = frozenset(self.key(path[0]) for path in paths if len(path) == 1)
        self._unlisted: Mapping[str, str] = {}

    def key(self, column: str) -> str:
        """Return the key of a column (`column_key`)."""
        return column_key(column, self._told_apart)

    def matches_like(self, other: "Columns") -> bool:
        """Tell whether both datasets distinguish columns by the same names, so that their keys agree."""
        return self._told_apart == other._told_apart

    def with_unlisted(self, spellings: Mapping[str, str]) -> "Columns":
        """Return a copy that also knows the spellings, by key, of columns that no list has."""
        found = copy(self)
        found._unlisted = spellings
        return found

    def with_more(self, spellings: Mapping[str, str]) -> "Columns":
        """Return a copy with further columns after the listed ones; spellings: by key."""
        more = {key: shown for key, shown in spellings.items() if key not in self.by_key}
        if not more:
            return self
        found = copy(self)
        found.by_key = self.by_key | more
        return found

    def shown(self, key: str) -> str:
        """Return a column as its list spells it, else as lineage spells it, else its key."""
        return self.by_key.get(key) or self._unlisted.get(key, key)


_ELEMENT, _KEY, _VALUE = "_element", "_key", "_value"
"""Names in a schema for the elements of arrays and the parts of maps (SchemaDatasetFacet 1-1-1).

Lineage leaves these parts out.
"""

_MAP = "*"
"""Prefix of the paths of maps in the result of `told_apart`."""


def column_key(column: str, exact: Collection[str]) -> str:
    """Return the key that all spellings of a column share.

    The key is the path without double quotes around it, and without the parts for the elements of arrays and the values
    of maps. It is casefolded unless the dataset has two columns that differ only in case.
    exact: the result of `told_apart` for the columns of the dataset.
    """
    plain = _plain(column, exact)
    folded = plain.casefold()
    return plain if folded in exact else folded


def _plain(column: str, exact: Collection[str]) -> str:
    """Remove the double quotes around a column, and the parts for elements of arrays and values of maps."""
    if column.startswith('"') and len(column) > 2 and column.find('"', 1) == len(column) - 1:
        column = column[1:-1]
    return _without_elements(column, exact) if "._" in column else column


def _without_elements(column: str, exact: Collection[str]) -> str:
    """Remove `_element`, and `_value` if it belongs to a map; a struct may have a field with that name."""
    first, *parts = column.split(".")
    kept = [first]
    for part in parts:
        folded = part.casefold()
        if folded != _ELEMENT and (folded != _VALUE or _MAP + ".".join(kept).casefold() not in exact):
            kept.append(part)
    return ".".join(kept)


def told_apart(columns: Sequence[Path]) -> frozenset[str]:
    """Return the casefolded names that several columns share, and the paths of maps with the prefix `*`."""
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
    for parent in sorted(within, key=len):  # a map may be nested in another map
        if within[parent] == {_KEY, _VALUE}:
            found.add(_MAP + _without_elements(parent, found).casefold())
    return frozenset(found)


def maps_among(exact: Collection[str]) -> frozenset[str]:
    """Return the paths of maps in a result of `told_apart`."""
    return frozenset(each for each in exact if each.startswith(_MAP))


def in_values(columns: Sequence[Path], maps: Collection[str]) -> list[Path]:
    """Rewrite the columns of a list that does not show some maps: columns nested in a map move into its values.

    Each map in the list also gets its `_key` and `_value`.
    maps: as `maps_among` returns them.
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
    """Return the keys of the structs that a column is nested in, the outermost first; none for a top-level column."""
    if key in top_level:
        return []
    parts = key.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


NO_COLUMNS = Columns(())
"""The columns of a dataset without a list."""
