"""Rule 12: what columns a dataset has, when, and which spellings are one column."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from headwater.lineage.columns import Columns
from headwater.lineage.contents import Contents
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.part import DELETED, Part


class SeenSchema(NamedTuple):
    """A schema as one event mentioned it; in the order in which the last one is the newest."""

    credible: bool
    time_us: int
    rank: int
    event_id: str
    place: int
    schema: str


class SeenSchemas(Protocol):
    """Keeps every schema that was ever mentioned, under the name as sent."""

    def see(self, name: Name, seen: SeenSchema) -> None:
        """Keep a mention; the same one again changes nothing."""

    def newest_first(self, name: Name) -> Iterable[SeenSchema]:
        """Return the schemas mentioned under a name, newest first."""


class Schemas:
    """The schemas of datasets in time."""

    def __init__(self, contents: Contents, seen: SeenSchemas, naming: Naming):
        """`contents` holds the columns of schemas; `naming` knows what names mean now."""
        self._contents = contents
        self._kept = seen
        self._naming = naming
        self._newest: dict[Name, SeenSchema | None] = {}
        self._columns: dict[Name, Columns] = {}

    def see(self, name: Name, seen: SeenSchema) -> Name | None:
        """Take a mention; returns its dataset if that has another newest schema now."""
        dataset = self._naming.resolve(name, seen.time_us)
        before = self._newest_seen(dataset)
        self.columns(dataset)  # as they are before it changes
        self._kept.see(name, seen)
        if before is not None and seen <= before:
            return None
        self._newest[dataset] = seen
        return dataset if before is None or before.schema != seen.schema else None

    def forget(self, begun: Iterable[Name]) -> None:
        """Names mean something else: look again; begun: generations that were not there before, nor their columns."""
        self._newest.clear()
        for dataset in begun:
            self._columns.setdefault(dataset, Columns(()))

    def newest(self, dataset: Name) -> str | None:
        """Return the hash of the newest schema."""
        seen = self._newest_seen(dataset)
        return seen.schema if seen else None

    def at(self, dataset: Name, time_us: int) -> str | None:
        """Return the hash of the newest schema up to a time, else of the earliest later one."""
        return schema_at(sorted(self._history(dataset)), time_us)

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema."""
        found = self._columns.get(dataset)
        return found if found is not None else self._look(dataset)

    def key(self, dataset: Name, column: str) -> str:
        """Return what equal columns of a dataset share (`Columns.key`)."""
        return self.columns(dataset).key(column)

    def settle(self, datasets: Iterable[Name]) -> set[Name]:
        """Look at the newest schemas of datasets; returns those whose columns match differently from now on."""
        changed = set()
        for dataset in datasets:
            before = self._columns.get(dataset)
            if before is None or not self._look(dataset).matches_like(before):
                changed.add(dataset)
        return changed

    def _look(self, dataset: Name) -> Columns:
        newest = self.newest(dataset)
        self._columns[dataset] = Columns(self._contents.schema(newest) if newest else ())
        return self._columns[dataset]

    def _newest_seen(self, dataset: Name) -> SeenSchema | None:
        if dataset not in self._newest:
            self._newest[dataset] = max(self._history(dataset), default=None)
        return self._newest[dataset]

    def _history(self, dataset: Name) -> Iterator[SeenSchema]:
        for name in self._naming.names_of(dataset):
            for seen in self._kept.newest_first(name):
                if self._naming.resolve(name, seen.time_us) == dataset:
                    yield seen


def schema_at(history: Sequence[SeenSchema], time_us: int) -> str | None:
    """Return the hash of the newest schema of a history, oldest first, up to a time, else of the earliest later one."""
    known = [seen for seen in history if seen.time_us <= time_us]
    chosen = known[-1:] or history[:1]
    return chosen[0].schema if chosen else None


def seen_schemas(part: Part) -> Iterator[tuple[Name, SeenSchema]]:
    """Yield (name as sent, schema as seen) of the datasets of an event.

    What a DROP or a RENAME says of its dataset is of the moment before (rule 10).
    """
    order = part.order
    for place, mention in enumerate((*part.inputs, *part.outputs)):
        if mention.schema and mention.schema != DELETED:
            seen = SeenSchema(*order, place, mention.schema)
            if place >= len(part.inputs) and mention.lifecycle in ("DROP", "RENAME"):
                name = mention.previous if mention.lifecycle == "RENAME" else None
                yield name or mention.name, seen._replace(time_us=seen.time_us - 1)
            else:
                yield mention.name, seen
