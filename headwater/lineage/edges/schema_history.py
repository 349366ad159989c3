"""Rule 12: what columns a dataset has, when, and which spellings are one column."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

from headwater.lineage.edges.facet_contents import Contents
from headwater.lineage.edges.schema_columns import NO_COLUMNS, Columns
from headwater.lineage.names.dataset_history import EVER_US, Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.runs.run_facts import DELETED, RunFacts

_BEFORE = 1 << 30


class SeenSchema(NamedTuple):
    """A schema as one event mentioned it; in the order in which the last one is the newest.

    place: among inputs, then outputs; beyond 1 << 30 of what a DROP or a RENAME says, which is of the moment before.
    """

    credible: bool
    time_us: int
    rank: int
    event_id: str
    place: int
    schema: str

    def dataset(self, name: Name, naming: Naming) -> Name:
        """Return the dataset that it is about, seen under a name as sent."""
        return naming.generations.meaning(naming.bound(name, self.time_us), self.time_us - (self.place >= _BEFORE))


class SeenSchemas(Protocol):
    """Keeps the schemas that were ever mentioned, under the name as sent."""

    def see(self, name: Name, uses: Sequence[SeenSchema]) -> None:
        """Keep mentions; the same ones again change nothing."""

    def newest_first(self, span: Span) -> Iterable[SeenSchema]:
        """Return the schemas mentioned under a name in a span of time, newest first.

        Of several in a row that say the same, those between the first and the last may be left out.
        """

    def keep_whole(self, names: Iterable[Name]) -> None:
        """Leave out no mention under these names from now on: they mean several datasets, or several mean one."""


class Schemas:
    """The schemas of datasets in time."""

    def __init__(self, contents: Contents, seen: SeenSchemas, naming: Naming):
        """`contents` holds the columns of schemas; `naming` knows what names mean now."""
        self._contents = contents
        self._kept = seen
        self._naming = naming
        self._newest: dict[Name, SeenSchema | None] = {}
        self._columns: dict[Name, Columns] = {}

    def see(self, name: Name, uses: Sequence[SeenSchema], newest: Mapping[Name, SeenSchema]) -> set[Name]:
        """Take mentions under a name, as `newest_of` has them, too; returns datasets that may have another schema."""
        before = {dataset: self._newest_seen(dataset) for dataset in newest}
        for dataset in newest:
            self.columns(dataset)  # as they are before it changes
        self._kept.see(name, uses)
        return {dataset for dataset, seen in newest.items() if self._renew(dataset, before[dataset], seen)}

    def newest_of(self, name: Name, uses: Sequence[SeenSchema]) -> dict[Name, SeenSchema]:
        """Return the datasets that are mentioned under a name, each with the newest of these mentions."""
        newest: dict[Name, SeenSchema] = {}
        for seen in (max(uses),) if self._naming.is_constant(name) else uses:
            dataset = seen.dataset(name, self._naming)
            newest[dataset] = max(newest.get(dataset, seen), seen)
        return newest

    def _renew(self, dataset: Name, before: SeenSchema | None, seen: SeenSchema) -> bool:
        if before is not None and seen <= before:
            return False
        self._newest[dataset] = seen
        return before is None or before.schema != seen.schema

    def forget(self, begun: Iterable[Name]) -> None:
        """Names mean something else: look again; begun: generations that were not there before, nor their columns."""
        self._newest.clear()
        for dataset in begun:
            self._columns.setdefault(dataset, NO_COLUMNS)

    def newest(self, dataset: Name) -> str | None:
        """Return the hash of the newest schema."""
        seen = self._newest_seen(dataset)
        return seen.schema if seen else None

    def at(self, dataset: Name, time_us: int) -> str | None:
        """Return the hash of the newest schema up to a time, else of the earliest later one."""
        found = self._upto(dataset, time_us)
        if found is None:
            found = min(chain.from_iterable(self._histories(dataset)), default=None)
        return found and found.schema

    def renewed(self, name: Name, uses: Iterable[SeenSchema]) -> Iterator[Span]:
        """Yield the datasets of which mentions under a name, not kept yet, bring another schema, and since when.

        What `at` says of other times stays.
        """
        for seen in uses:
            dataset = seen.dataset(name, self._naming)
            before = self._upto(dataset, seen.time_us)
            if before is None or not (before.credible and seen.credible):
                yield Span(dataset)  # it may be the earliest later one of any time before
            elif before.schema != seen.schema:
                yield Span(dataset, seen.time_us)

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
            before, now = self._columns.get(dataset), self._look(dataset)
            if before is None or not now.matches_like(before):
                changed.add(dataset)
        return changed

    def _look(self, dataset: Name) -> Columns:
        newest = self.newest(dataset)
        columns = self._columns[dataset] = Columns(self._contents.schema(newest)) if newest else NO_COLUMNS
        return columns

    def _newest_seen(self, dataset: Name) -> SeenSchema | None:
        if dataset not in self._newest:
            newest = (next(history, None) for history in self._histories(dataset))
            self._newest[dataset] = max((seen for seen in newest if seen), default=None)
        return self._newest[dataset]

    def _upto(self, dataset: Name, time_us: int) -> SeenSchema | None:
        """Return the newest mention up to a time; most runs come after all mentions that there are."""
        newest = self._newest_seen(dataset)
        if newest is None or newest.time_us <= time_us:
            return newest
        names = self._naming.names_of(dataset)
        if len(names) > 1:
            self._kept.keep_whole(names)
        found = (next(history, None) for history in self._histories(dataset, time_us + 1))
        return max((seen for seen in found if seen), default=None)

    def _histories(self, dataset: Name, until_us: int = EVER_US) -> Iterator[Iterator[SeenSchema]]:
        """Yield what each name that means a dataset mentioned, newest first; what ends it speaks of it, too."""
        for span in self._naming.uses(dataset):
            upto_its_end = Span(span.name, span.since_us, min(span.until_us + 1, until_us))
            mentions = self._kept.newest_first(upto_its_end)
            yield (seen for seen in mentions if seen.dataset(span.name, self._naming) == dataset)


def schema_at(history: Sequence[SeenSchema], time_us: int) -> str | None:
    """Return the hash of the newest schema of a history, oldest first, up to a time, else of the earliest later one."""
    known = [seen for seen in history if seen.time_us <= time_us]
    chosen = known[-1:] or history[:1]
    return chosen[0].schema if chosen else None


def seen_schemas(fact: RunFacts) -> Iterator[tuple[Name, SeenSchema]]:
    """Yield (name as sent, schema as seen) of the datasets of an event.

    What a DROP or a RENAME says of its dataset is of the moment before (rule 10).
    """
    order, said = fact.order, fact.content
    for place, use in enumerate((*said.inputs, *said.outputs)):
        if use.schema and use.schema != DELETED:
            seen = SeenSchema(*order, place, use.schema)
            changes = use.lifecycle == "DROP" or (use.lifecycle == "RENAME" and use.previous)
            if changes and place >= len(said.inputs):
                name = use.previous if use.lifecycle == "RENAME" else None
                yield name or use.name, seen._replace(place=place + _BEFORE)
            else:
                yield use.name, seen
