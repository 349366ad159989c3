"""The schemas of generations over time, and the keys of columns (docs/reference/lineage.md: edges of one
run, columns).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from tests.reference.generations import NEVER, Dataset
from tests.reference.records import Delivered, Facets, facets_of


class ColumnList(NamedTuple):
    """The columns that one event lists. is_complete: they are all columns of the table."""

    time_us: int
    is_complete: bool
    paths: list[tuple[str, ...]]


class Schemas:
    """All column lists in a set of events. A column is a path joined by dots."""

    def __init__(
        self,
        events: Iterable[Delivered],
        meaning: Callable[[dict[str, Any], Delivered, bool], Dataset | None],
        is_complete: Callable[[dict[str, Any], Delivered, Dataset, str], bool],
    ) -> None:
        """Read the schemas of all events.

        events: oldest first. Within one event, the schemas of outputs come after those of inputs. meaning: returns the
        dataset of a mention. is_complete: returns whether a schema lists all columns.
        """
        self.known: dict[Dataset, list[ColumnList]] = defaultdict(list)
        self._keys: dict[tuple[Dataset, str], str] = {}
        for event in events:
            for role in ("inputs", "outputs", "dataset"):
                for each in event.datasets(role):
                    schema, dataset = facets_of(each).get("schema"), meaning(each, event, role == "outputs")
                    if schema and schema.get("fields") and not schema.get("_deleted") and dataset:
                        whole = is_complete(each, event, dataset, role)
                        self.known[dataset].append(
                            ColumnList(event.time_us, whole, schema_paths(schema.get("fields") or []))
                        )

    def at(self, dataset: Dataset, time_us: int) -> list[str]:
        return [".".join(path) for path in self.paths_at(dataset, time_us)]

    def paths_at(self, dataset: Dataset, time_us: int) -> list[tuple[str, ...]]:
        """Return the columns of the base list at a time, then the additional columns of newer lists, newest first."""
        return _together([each.paths for each in self._lists_at(dataset, time_us)])

    def is_joined(self, dataset: Dataset, time_us: int) -> bool:
        """Return whether the first list lacks columns of the joined lists, or nests columns in another way."""
        lists = [each.paths for each in self._lists_at(dataset, time_us)]
        return _together(lists) != _together(lists[:1])

    def _lists_at(self, dataset: Dataset, time_us: int) -> list[ColumnList]:
        known = self.known.get(dataset, [])
        complete = [place for place, each in enumerate(known) if each.is_complete and each.time_us <= time_us]
        newer = known[complete[-1] + 1 :] if complete else known
        past = [each for each in known if each.time_us <= time_us]
        first = [known[complete[-1]]] if complete else past[-1:] or known[:1]
        return [*first, *reversed(newer)]

    def base_us(self, dataset: Dataset) -> int | None:
        """Return the time of the base list, or None if there is none."""
        complete = [each.time_us for each in self.known.get(dataset, []) if each.is_complete]
        return complete[-1] if complete else None

    def columns(self, dataset: Dataset) -> set[str]:
        """Return the keys of the columns in the newest schema. A nested column's key is its path."""
        return {self.key(dataset, ".".join(path)) for path in self._newest(dataset)}

    def key(self, dataset: Dataset, column: str) -> str:
        """Return the key that all spellings of a column share.

        For example, `items._element.email` equals `items.email`.
        """
        if (dataset, column) not in self._keys:
            self._keys[dataset, column] = self._key(dataset, column)
        return self._keys[dataset, column]

    def _key(self, dataset: Dataset, column: str) -> str:
        paths = self._newest(dataset)
        maps = self._maps(dataset)
        quoted = re.fullmatch('"([^"]+)"', column)
        told = plain(tuple((quoted[1] if quoted else column).split(".")), maps)
        spellings = {plain(path, maps) for path in paths}
        same = [each for each in spellings if each.casefold() == told.casefold()]
        return told if len(same) > 1 else told.casefold()

    def is_nested(self, dataset: Dataset, column: str, parent: str) -> bool:
        """Return whether a column is nested in another, both given by key."""
        if not column.startswith(parent + "."):
            return False
        return column not in self._top_level(dataset)

    @cache  # noqa: B019 - a world is small and soon gone
    def _top_level(self, dataset: Dataset) -> set[str]:
        """Return the keys of the columns that no list nests in another column."""
        every = [path for each in self._lists_at(dataset, NEVER) for path in each.paths]
        keys = {path: self.key(dataset, ".".join(path)) for path in every}
        nested = {key for path, key in keys.items() if len(path) > 1 and key != self.key(dataset, ".".join(path[:-1]))}
        return {key for path, key in keys.items() if len(path) == 1} - nested

    @cache  # noqa: B019 - a world is small and soon gone
    def _maps(self, dataset: Dataset) -> set[str]:
        """Return the columns that a list shows to be maps."""
        return set[str]().union(*(map_paths(each.paths) for each in self._lists_at(dataset, NEVER)))

    @cache  # noqa: B019 - a world is small and soon gone
    def _newest(self, dataset: Dataset) -> list[tuple[str, ...]]:
        return self.paths_at(dataset, NEVER)


def _together(lists: list[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Combine the columns of several lists. Each list adds the columns that the earlier lists do not contain."""
    found: list[tuple[str, ...]] = []
    maps = set[str]().union(*map(map_paths, lists))
    for paths in [_with_values(each, maps) for each in lists]:
        apart = _apart(found, maps) | _apart(paths, maps)
        keys = {_compared(path, maps, apart) for path in found}
        nested = {
            key: path
            for path in paths
            if len(path) > 1 and (key := _compared(path, maps, apart)) != _compared(path[:-1], maps, apart)
        }
        found = [nested.get(_compared(path, maps, apart), path) if len(path) == 1 else path for path in found]
        found = found + [path for path in paths if _compared(path, maps, apart) not in keys]
    return found


def _with_values(paths: list[tuple[str, ...]], maps: set[str]) -> list[tuple[str, ...]]:
    """Return a list in which fields directly below a map are moved below the map's `_value`."""
    found: list[tuple[str, ...]] = []
    for path in paths:
        moved: tuple[str, ...] = path[:1]
        for part in path[1:]:
            is_in_map = moved[-1].casefold() not in ("_value", "_element") and plain(moved, maps).casefold() in maps
            if is_in_map and part.casefold() not in ("_key", "_value"):
                moved = (*moved, "_value") if part.casefold() == "_element" else (*moved, "_value", part)
            else:
                moved = (*moved, part)
        found.append(moved)
        if moved[-1].casefold() not in ("_value", "_element") and plain(moved, maps).casefold() in maps:
            found += [(*moved, "_key"), (*moved, "_value")]
    return list(dict.fromkeys(found))


def _apart(paths: list[tuple[str, ...]], maps: set[str]) -> set[str]:
    counted = Counter(each.casefold() for each in {plain(path, maps) for path in paths})
    return {folded for folded, count in counted.items() if count > 1}


def _compared(path: tuple[str, ...], maps: set[str], apart: set[str]) -> str:
    told = plain(path, maps)
    return told if told.casefold() in apart else told.casefold()


def map_paths(paths: list[tuple[str, ...]]) -> set[str]:
    """Return the columns that are maps, whose direct fields are a key and a value."""
    found: set[str] = set()
    for path in sorted(paths, key=len):
        if {each[-1] for each in paths if each[:-1] == path} == {"_key", "_value"}:
            found.add(plain(path, found).casefold())
    return found


def plain(path: tuple[str, ...], maps: set[str]) -> str:
    """Return a path without the parts for array elements and map values."""
    quoted = re.fullmatch('"([^"]+)"', path[0]) if len(path) == 1 else None
    told = quoted[1] if quoted else path[0]
    for part in path[1:]:
        if part.casefold() != "_element" and (part.casefold() != "_value" or told.casefold() not in maps):
            told = f"{told}.{part}"
    return told


def schema_paths(fields: list[Facets], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    paths = []
    for each in fields:
        paths += [(*above, each["name"]), *schema_paths(each.get("fields") or [], (*above, each["name"]))]
    return paths
