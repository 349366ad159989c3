"""Rule 12.8: join several lists of columns of one dataset."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import json

from headwater.lineage.edges.schema_columns import Path, column_key, in_values, maps_among, told_apart

_AND = "+"
"""Separator between the hashes of joined lists."""


def joined_hash(schemas: Sequence[str], columns_of: Callable[[str], Sequence[Path]]) -> str:
    """Return the hash of several joined lists: the hashes of those that add columns, in their order."""
    adding = list[str]()
    together = _Together()
    for schema in schemas:
        if together.add(columns_of(schema)) or not adding:
            adding.append(schema)
    return _AND.join(adding)


def lists_in(joined: str) -> list[str]:
    """Return the hashes of the lists in a joined hash."""
    return joined.split(_AND)


def is_joined(schema: str) -> bool:
    """Tell whether a hash is that of several joined lists."""
    return _AND in schema


def joined_columns(lists: Sequence[Sequence[Path]]) -> tuple[Path, ...]:
    """Return the columns of several lists, each once and in the spelling of the first list that has it."""
    together = _Together()
    for columns in lists:
        together.add(columns)
    return tuple(together.columns)


def joined_facet(texts: Sequence[str]) -> str:
    """Return the first of one or more schema facets (JSON), with the columns that the others add."""
    first, *others = (json.decode(text) for text in texts)
    for other in others:
        first["fields"] = _joined_fields(first.get("fields"), other.get("fields"))
    return json.encode(first).decode()


def _joined_fields(fields: Any, more: Any) -> list[Any]:
    own = [each for each in fields or [] if isinstance(each, dict)]
    by_name = {str(each.get("name")).casefold(): each for each in own}
    for each in more or []:
        same = by_name.get(str(each.get("name")).casefold()) if isinstance(each, dict) else None
        if same is None:
            own.append(each)
        elif each.get("fields"):
            same["fields"] = _joined_fields(same.get("fields"), each["fields"])
    return own


class _Together:
    """Joins lists of columns one after the other: each adds the columns that are missing."""

    def __init__(self) -> None:
        self.columns: list[Path] = []
        self._names: list[str] = []
        self._keys: set[str] = set()
        self._exact = frozenset[str]()

    def add(self, columns: Sequence[Path]) -> bool:
        """Add the columns of a list; return whether that changed the joined columns.

        If either side has two names that differ only in case, these are compared exactly. A column is a map if any list
        shows it as one; columns that other lists nest in it then belong to its values. A column is nested if any list
        nests it.
        """
        own = told_apart(columns)
        maps = maps_among(own)
        new_maps = maps - self._exact
        if new_maps or not maps_among(self._exact) <= maps:
            columns = in_values(columns, maps | maps_among(self._exact))
        if new_maps and self.columns:
            self._take(in_values(self.columns, maps | maps_among(self._exact)))
        names = [".".join(path) for path in columns]
        exact = self._exact | own
        known = self._keys if exact == self._exact else {column_key(name, exact) for name in self._names}
        fresh = [at for at, name in enumerate(names) if column_key(name, exact) not in known]
        is_nested = self._nest(columns, exact) if len(fresh) < len(names) else False
        if fresh:
            self.columns += [columns[at] for at in fresh]
            self._names += [names[at] for at in fresh]
            self._compare(exact, [names[at] for at in fresh])
        return bool(fresh or new_maps or is_nested)

    def _take(self, columns: Sequence[Path]) -> None:
        """Replace the paths of all columns."""
        self.columns = list(columns)
        self._names = [".".join(path) for path in columns]
        self._exact = told_apart(self.columns)
        self._keys = {column_key(name, self._exact) for name in self._names}

    def _nest(self, columns: Sequence[Path], exact: frozenset[str]) -> bool:
        """Nest known columns that have dots in their names and that this list nests; return whether there were any."""
        named = ((at, path[0]) for at, path in enumerate(self.columns) if len(path) == 1 and "." in path[0])
        flat = {column_key(name, exact): at for at, name in named}
        if not flat:
            return False
        found: dict[int, Path] = {}
        for path in columns:
            key = column_key(".".join(path), exact)
            if len(path) > 1 and key in flat and key != column_key(".".join(path[:-1]), exact):
                found[flat[key]] = path
        if found:
            self._take([found.get(at, path) for at, path in enumerate(self.columns)])
        return bool(found)

    def _compare(self, exact: frozenset[str], fresh: Sequence[str]) -> None:
        """Add the keys of new columns.

        If there are maps or names that differ only in case, the keys of all columns are computed again.
        """
        has_maps = len(exact) > 0 or any("._" in name for name in fresh)
        if has_maps:
            self._exact = told_apart(self.columns)
            self._keys = {column_key(name, self._exact) for name in self._names}
        else:
            self._keys.update(column_key(name, exact) for name in fresh)
