"""Rule 12: the keys, spellings and nesting of the columns of a dataset. Rule 12.8: join several lists of columns."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import msgspec
from msgspec import json

Path = tuple[str, ...]
"""The path of a column in a schema: the names of the structs around it, the outermost first, then its own name."""


class Columns:
    """The columns of one dataset (rule 12.7). There are no columns if no event lists columns of the dataset.

    names: the path of each listed column, with dots between the parts.
    by_key: the listed spelling of each column, by the key of the column.
    has_nested_columns: whether any listed column is nested in another column.
    top_level: the keys of the listed columns that are not nested in another column.
    """

    def __init__(self, paths: Sequence[Path]):
        """paths: the paths of the columns, as `FacetContents.schema` returns them."""
        self.names = tuple(".".join(path) for path in paths)
        self._exact_names = find_exact_names(paths)
        self.by_key: dict[str, str] = {}
        for name in self.names:
            self.by_key.setdefault(self.key(name), name)  # an array and its elements have the same key
        self.has_nested_columns = any(len(path) > 1 for path in paths)
        self.top_level = frozenset(self.key(path[0]) for path in paths if len(path) == 1)
        self._unlisted: Mapping[str, str] = {}

    def key(self, column: str) -> str:
        """Return the key that all spellings of a column share (`column_key`)."""
        return column_key(column, self._exact_names)

    def has_same_spelling_rules(self, other: "Columns") -> bool:
        """Tell whether this dataset and `other` have the same columns that differ only in case, and the same maps.

        If so, a column has the same key in both datasets.
        """
        return self._exact_names == other._exact_names

    def with_unlisted_spellings(self, spellings: Mapping[str, str]) -> "Columns":
        """Return a copy that also stores spellings, by key, of columns that no list contains."""
        found = copy(self)
        found._unlisted = spellings
        return found

    def with_additional_columns(self, spellings: Mapping[str, str]) -> "Columns":
        """Return a copy with more columns after the listed columns. spellings: their spellings, by key."""
        more = {key: shown for key, shown in spellings.items() if key not in self.by_key}
        if not more:
            return self
        found = copy(self)
        found.by_key = self.by_key | more
        return found

    def displayed_spelling(self, key: str) -> str:
        """Return the listed spelling of a column, else its spelling in lineage, else its key."""
        return self.by_key.get(key) or self._unlisted.get(key, key)


_ELEMENT, _KEY, _VALUE = "_element", "_key", "_value"
"""Names in a schema for the elements of arrays and the parts of maps (SchemaDatasetFacet 1-1-1).

Column names in lineage omit these parts.
"""

_MAP = "*"
"""The prefix of the paths of maps in the result of `find_exact_names`."""


def column_key(column: str, exact_names: Collection[str]) -> str:
    """Return the key that all spellings of a column share.

    The key is the path with dots, without double quotes around it, and without the parts for the elements of arrays and
    the values of maps. The key is casefolded unless the dataset has two such columns that differ only in case.
    exact_names: the result of `find_exact_names` for the columns of the dataset.
    """
    plain = _normalize_column(column, exact_names)
    folded = plain.casefold()
    return plain if folded in exact_names else folded


def _normalize_column(column: str, exact_names: Collection[str]) -> str:
    """Return a column without double quotes around it, and without parts for elements of arrays and values of maps."""
    if column.startswith('"') and len(column) > 2 and column.find('"', 1) == len(column) - 1:
        column = column[1:-1]
    return _without_elements(column, exact_names) if "._" in column else column


def _without_elements(column: str, exact_names: Collection[str]) -> str:
    """Return a column without `_element`, and without `_value` after a map. A struct may have a field `_value`."""
    first, *parts = column.split(".")
    parts_without_elements = [first]
    for part in parts:
        folded = part.casefold()
        if folded != _ELEMENT and (
            folded != _VALUE or _MAP + ".".join(parts_without_elements).casefold() not in exact_names
        ):
            parts_without_elements.append(part)
    return ".".join(parts_without_elements)


def find_exact_names(columns: Sequence[Path]) -> frozenset[str]:
    """Return the names that `column_key` needs to distinguish the columns of a list.

    These are the casefolded names of columns that differ only in case, and the casefolded paths of maps after a `*`.
    """
    maps = _find_map_paths(columns)
    spellings: dict[str, set[str]] = {}
    for path in columns:
        plain = _normalize_column(".".join(path), maps)
        spellings.setdefault(plain.casefold(), set()).add(plain)
    return maps.union(folded for folded, same in spellings.items() if len(same) > 1)


def _find_map_paths(columns: Sequence[Path]) -> frozenset[str]:
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


def map_paths(exact_names: Collection[str]) -> frozenset[str]:
    """Return the paths of maps, with the prefix `*`, in a result of `find_exact_names`."""
    return frozenset(each for each in exact_names if each.startswith(_MAP))


def nest_in_map_values(columns: Sequence[Path], maps: Collection[str]) -> list[Path]:
    """Return a list of columns after columns that are nested directly in a map are moved into the values of the map.

    A list needs this if it lacks the `_key` and `_value` of some maps. Each map in the result has both.
    maps: the paths of maps, as `map_paths` returns them.
    """
    found: dict[Path, None] = {}
    for path in columns:
        nested_path: Path = ()
        for part in path:
            if nested_path and part.casefold() not in (_KEY, _VALUE) and _is_map(nested_path, maps):
                nested_path = (*nested_path, _VALUE)
                if part.casefold() == _ELEMENT:
                    continue
            nested_path = (*nested_path, part)
        found[nested_path] = None
        if _is_map(nested_path, maps):
            found |= dict.fromkeys([(*nested_path, _KEY), (*nested_path, _VALUE)])
    return list(found)


def _is_map(path: Path, maps: Collection[str]) -> bool:
    return (
        path[-1].casefold() not in (_VALUE, _ELEMENT)
        and _MAP + _without_elements(".".join(path), maps).casefold() in maps
    )


def parent_keys(key: str, top_level: frozenset[str]) -> list[str]:
    """Return the keys of the structs around a column, from the outermost to the innermost.

    top_level: the keys of the columns that are not nested, whatever dots they contain. They give an empty list.
    """
    if key in top_level:
        return []
    parts = key.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


NO_COLUMNS = Columns(())
"""The columns of a dataset for which no event lists columns."""


_HASH_SEPARATOR = "+"
"""The separator between the hashes of several joined lists."""


def join_schema_hashes(schemas: Sequence[str], columns_of: Callable[[str], Sequence[Path]]) -> str:
    """Return the joined hash of several lists of columns.

    The joined hash consists of the hashes of the lists that add columns to the lists before them.
    schemas: the hashes of the lists. columns_of: returns the columns of a list by its hash.
    """
    hashes_with_new_columns = list[str]()
    joiner = _ColumnListJoiner()
    for schema in schemas:
        if joiner.add(columns_of(schema)) or not hashes_with_new_columns:
            hashes_with_new_columns.append(schema)
    return _HASH_SEPARATOR.join(hashes_with_new_columns)


def split_schema_hash(joined: str) -> list[str]:
    """Return the hashes of the single lists in a joined hash."""
    return joined.split(_HASH_SEPARATOR)


def is_joined_hash(schema: str) -> bool:
    """Tell whether a hash is a joined hash of several lists."""
    return _HASH_SEPARATOR in schema


def join_column_lists(lists: Sequence[Sequence[Path]]) -> tuple[Path, ...]:
    """Return the columns of several lists, each once and in the spelling of the first list that contains the column."""
    joiner = _ColumnListJoiner()
    for columns in lists:
        joiner.add(columns)
    return tuple(joiner.columns)


def join_schema_facets(texts: Sequence[str]) -> str:
    """Return the first of some schema facets (JSON texts), extended by the columns that only the others have."""
    first, *others = (json.decode(text) for text in texts)
    for other in others:
        first["fields"] = _join_fields(first.get("fields"), other.get("fields"))
    return json.encode(first).decode()


def _join_fields(fields: Any, more: Any) -> list[Any]:
    own = [each for each in fields or [] if isinstance(each, dict)]
    by_name = {str(each.get("name")).casefold(): each for each in own}
    for each in more or []:
        same = by_name.get(str(each.get("name")).casefold()) if isinstance(each, dict) else None
        if same is None:
            own.append(each)
        elif each.get("fields"):
            same["fields"] = _join_fields(same.get("fields"), each["fields"])
    return own


class _ColumnListJoiner:
    """Joins lists of columns one after the other. Each list adds the columns that the lists before it lack."""

    def __init__(self) -> None:
        self.columns: list[Path] = []
        self._names: list[str] = []
        self._keys: set[str] = set()
        self._exact_names = frozenset[str]()

    def add(self, columns: Sequence[Path]) -> bool:
        """Add the columns of a list; return whether this changed the joined columns.

        Names are compared without case, unless the new list or the joined columns have two names that differ only in
        case. If any list shows a column as a map, columns that other lists nest in this column become columns of the
        values of the map. If any list shows a column as nested, it is nested in the result.
        """
        own = find_exact_names(columns)
        maps = map_paths(own)
        new_maps = maps - self._exact_names
        if new_maps or not map_paths(self._exact_names) <= maps:
            columns = nest_in_map_values(columns, maps | map_paths(self._exact_names))
        if new_maps and self.columns:
            self._replace_columns(nest_in_map_values(self.columns, maps | map_paths(self._exact_names)))
        names = [".".join(path) for path in columns]
        exact = self._exact_names | own
        known = self._keys if exact == self._exact_names else {column_key(name, exact) for name in self._names}
        fresh = [at for at, name in enumerate(names) if column_key(name, exact) not in known]
        is_nested = self._nest_dotted_columns(columns, exact) if len(fresh) < len(names) else False
        if fresh:
            self.columns += [columns[at] for at in fresh]
            self._names += [names[at] for at in fresh]
            self._add_keys(exact, [names[at] for at in fresh])
        return bool(fresh or new_maps or is_nested)

    def _replace_columns(self, columns: Sequence[Path]) -> None:
        """Replace the paths of all columns."""
        self.columns = list(columns)
        self._names = [".".join(path) for path in columns]
        self._exact_names = find_exact_names(self.columns)
        self._keys = {column_key(name, self._exact_names) for name in self._names}

    def _nest_dotted_columns(self, columns: Sequence[Path], exact_names: frozenset[str]) -> bool:
        """Nest the joined top-level columns with dots in their names that are nested columns in a new list.

        Returns whether there were such columns. columns: the paths of the columns in the new list.
        """
        named = ((at, path[0]) for at, path in enumerate(self.columns) if len(path) == 1 and "." in path[0])
        flat = {column_key(name, exact_names): at for at, name in named}
        if not flat:
            return False
        found: dict[int, Path] = {}
        for path in columns:
            key = column_key(".".join(path), exact_names)
            if len(path) > 1 and key in flat and key != column_key(".".join(path[:-1]), exact_names):
                found[flat[key]] = path
        if found:
            self._replace_columns([found.get(at, path) for at, path in enumerate(self.columns)])
        return bool(found)

    def _add_keys(self, exact_names: frozenset[str], new_names: Sequence[str]) -> None:
        """Add the keys of new columns to the keys of the joined columns.

        If there are maps or names that differ only in case, this method computes the keys of all columns again.
        """
        has_maps = len(exact_names) > 0 or any("._" in name for name in new_names)
        if has_maps:
            self._exact_names = find_exact_names(self.columns)
            self._keys = {column_key(name, self._exact_names) for name in self._names}
        else:
            self._keys.update(column_key(name, exact_names) for name in new_names)


def preferred_spellings(columns: Iterable[str]) -> dict[str, str]:
    """Return one spelling of each column, by its key. The result does not depend on the order of `columns`.

    A spelling in upper case is used only if there is no other, because engines may convert any name to upper case. Of
    several possible spellings, the alphabetically first is used.
    """
    chosen: dict[str, str] = {}
    for column in sorted(columns, key=_preference_order):
        chosen.setdefault(column_key(column, ()), column)
    return chosen


def encode_spellings(columns: Iterable[str]) -> str:
    """Return the preferred spelling of each column as a sorted JSON list."""
    return msgspec.json.encode(sorted(preferred_spellings(columns).values())).decode()


def decode_spellings(text: str | None) -> list[str]:
    """Return the spellings in a JSON list, or an empty list if the text is None or empty."""
    return msgspec.json.decode(text, type=list[str]) if text else []


def _preference_order(column: str) -> tuple[bool, str]:
    return column.isupper(), column
