"""The schemas of generations in time, and the keys of columns (docs/lineage.md: edges of one run, columns)."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from tests.reference.generations import Dataset
from tests.reference.records import Delivered, Facets, facets_of


class Schemas:
    """All schemas that a set of events tells; columns are paths joined by dots."""

    def __init__(
        self, events: Iterable[Delivered], meaning: Callable[[dict[str, Any], Delivered, bool], Dataset | None]
    ) -> None:
        """`events`: oldest first; in one event an output's schema comes after an input's. `meaning`: of a mention."""
        self.known: dict[Dataset, list[tuple[int, list[tuple[str, ...]]]]] = defaultdict(list)
        for event in events:
            for role in ("inputs", "outputs", "dataset"):
                for each in event.datasets(role):
                    schema, dataset = facets_of(each).get("schema"), meaning(each, event, role == "outputs")
                    if schema and schema.get("fields") and not schema.get("_deleted") and dataset:
                        self.known[dataset].append((event.time_us, schema_paths(schema.get("fields") or [])))

    def at(self, dataset: Dataset, time_us: int) -> list[str]:
        return [".".join(path) for path in self.paths_at(dataset, time_us)]

    def paths_at(self, dataset: Dataset, time_us: int) -> list[tuple[str, ...]]:
        """Return the newest schema at a time, else the earliest later one."""
        known = self.known.get(dataset, [])
        past = [paths for at, paths in known if at <= time_us]
        return past[-1] if past else known[0][1] if known else []

    def columns(self, dataset: Dataset) -> set[str]:
        """Return the keys of the columns of the newest schema, nested ones by path."""
        return {self.key(dataset, ".".join(path)) for path in self._newest(dataset)}

    def key(self, dataset: Dataset, column: str) -> str:
        """Return what the spellings of one column share: `items._element.email` and `items.email` are one."""
        paths = self._newest(dataset)
        maps = map_paths(paths)
        told = plain(tuple(column.split(".")), maps)
        spellings = {plain(path, maps) for path in paths}
        same = [each for each in spellings if each.casefold() == told.casefold()]
        return told if len(same) > 1 else told.casefold()

    def is_nested(self, dataset: Dataset, column: str, parent: str) -> bool:
        """Tell whether a column, by key, is nested in another."""
        top_level = {self.key(dataset, path[0]) for path in self._newest(dataset) if len(path) == 1}
        return column.startswith(parent + ".") and column not in top_level

    def _newest(self, dataset: Dataset) -> list[tuple[str, ...]]:
        known = self.known.get(dataset, [])
        return known[-1][1] if known else []


def map_paths(paths: list[tuple[str, ...]]) -> set[str]:
    """Return the columns that are maps: what is directly in them is a key and a value."""
    found: set[str] = set()
    for path in sorted(paths, key=len):
        if {each[-1] for each in paths if each[:-1] == path} == {"_key", "_value"}:
            found.add(plain(path, found).casefold())
    return found


def plain(path: tuple[str, ...], maps: set[str]) -> str:
    """Return a path without what stands for the elements of an array and for the values of a map."""
    told = path[0]
    for part in path[1:]:
        if part.casefold() != "_element" and (part.casefold() != "_value" or told.casefold() not in maps):
            told = f"{told}.{part}"
    return told


def schema_paths(fields: list[Facets], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    paths = []
    for each in fields:
        paths += [(*above, each["name"]), *schema_paths(each.get("fields") or [], (*above, each["name"]))]
    return paths
