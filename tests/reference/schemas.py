"""The schemas of datasets in time, and the keys of columns (docs/lineage.md: edges of one run)."""

from collections import defaultdict
from collections.abc import Iterable

from tests.reference.names import Name, Names
from tests.reference.records import Delivered, Facets, facets_of


class Schemas:
    """All schemas that a set of events tells; columns are paths joined by dots."""

    def __init__(self, events: Iterable[Delivered], names: Names) -> None:
        """`events`: oldest first; in one event an output's schema comes after an input's."""
        self.known: dict[Name, list[tuple[int, list[tuple[str, ...]]]]] = defaultdict(list)
        for event in events:
            for dataset in event.datasets("inputs", "outputs", "dataset"):
                schema, name = facets_of(dataset).get("schema"), names.mention(dataset, event)
                if schema and not schema.get("_deleted") and name:
                    self.known[name].append((event.time_us, schema_paths(schema.get("fields") or [])))

    def at(self, name: Name, time_us: int) -> list[str]:
        known = self.known.get(name, [])
        past = [paths for at, paths in known if at <= time_us]
        paths = past[-1] if past else known[0][1] if known else []
        return [".".join(path) for path in paths]

    def columns(self, name: Name) -> set[str]:
        """Return the keys of the columns of the newest schema, nested ones by path."""
        known = self.known.get(name, [])
        return {self.key(name, ".".join(path)) for path in known[-1][1]} if known else set()

    def key(self, name: Name, column: str) -> str:
        known = self.known.get(name, [])
        spellings = {".".join(path) for path in (known[-1][1] if known else [])}
        same = [each for each in spellings if each.casefold() == column.casefold()]
        return column if len(same) > 1 else column.casefold()

    def parents(self, name: Name, key: str) -> list[str]:
        known = self.known.get(name, [])
        if key in {self.key(name, path[0]) for path in (known[-1][1] if known else []) if len(path) == 1}:
            return []
        parts = key.split(".")
        return [".".join(parts[:length]) for length in range(1, len(parts))]


def schema_paths(fields: list[Facets], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    paths = []
    for each in fields:
        paths += [(*above, each["name"]), *schema_paths(each.get("fields") or [], (*above, each["name"]))]
    return paths
