"""Rule 12: the columns of a dataset at a time, and the keys of its columns."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from heapq import merge
from itertools import chain
from typing import NamedTuple, Protocol

from headwater.lineage.edges.complete_lists import ADDED, COMPLETE, READ, UNLESS_PARTS, authority_of
from headwater.lineage.edges.facet_contents import Contents
from headwater.lineage.edges.joined_lists import joined_hash, lists_in
from headwater.lineage.edges.schema_columns import NO_COLUMNS, Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US, Span
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.run_facts import DELETED, RunFacts

_BEFORE = 1 << 30


class SeenSchema(NamedTuple):
    """One mention of a list of columns by an event. The greatest mention is the newest (rule 1.3).

    place: the index of the dataset among the event's inputs and then outputs. 1 << 30 is added for a list that comes
    with a DROP or RENAME, because it describes the dataset just before (rule 10.8).
    schema: the hash of the list.
    authority: READ to COMPLETE (`complete_lists`).
    """

    credible: bool
    time_us: int
    rank: int
    event_id: str
    place: int
    schema: str
    authority: int = 0

    def dataset(self, name: Name, naming: NameResolver) -> Name:
        """Return the dataset that the list describes; name: the name in the event, as sent."""
        return naming.generations.meaning(naming.bound(name, self.time_us), self.time_us - (self.place >= _BEFORE))


class SeenSchemas(Protocol):
    """Storage of all mentions of schemas, by dataset name as sent."""

    def see(self, name: Name, uses: Sequence[SeenSchema]) -> None:
        """Store mentions; storing a mention again has no effect."""

    def newest_first(self, span: Span) -> Iterable[SeenSchema]:
        """Return the mentions under a name in a time span, the newest first.

        Of consecutive mentions of one schema, implementations may return only the first and the last of each authority.
        """

    def is_parted(self, name: Name) -> bool:
        """Tell whether some event mentions a part of the dataset, such as a partition, under this name as sent."""

    def keep_whole(self, names: Iterable[Name]) -> None:
        """Store every mention under these names from now on.

        Each of them means several datasets, or several of them mean one dataset.
        """


class KnownLists:
    """The lists that make up the columns of a dataset: its base list, and the newest mention of each newer list.

    first: the list that comes first if there is no base list; None for the newest one.
    """

    def __init__(self, *, by_parts: bool) -> None:
        """by_parts: some event mentions a part of the dataset."""
        self.base: SeenSchema | None = None
        self.first: SeenSchema | None = None
        self._least = COMPLETE if by_parts else UNLESS_PARTS
        self._newer: dict[tuple[str, int], SeenSchema] = {}

    def take(self, seen: SeenSchema) -> None:
        """Add a mention. The order of calls makes no difference."""
        if self.base is not None and seen <= self.base:
            return
        if seen.authority >= self._least:
            self.base = seen
            self._newer = {key: each for key, each in self._newer.items() if each > seen}
        else:
            key = seen.schema, seen.authority
            self._newer[key] = max(seen, self._newer.get(key, seen))

    @property
    def lists(self) -> list[SeenSchema]:
        """The base list, then the other lists, the newest first."""
        newer = sorted(self._newer.values(), reverse=True)
        first = self.base or self.first
        return [first, *newer] if first else newer

    @property
    def newest(self) -> SeenSchema | None:
        """The newest mention; None without a list."""
        return max((*self._newer.values(), *((self.base,) if self.base else ())), default=None)

    def beginning_with(self, first: SeenSchema | None) -> "KnownLists":
        """Return a copy in which `first` comes first if there is no base list."""
        found = copy(self)
        found.first = first
        return found

    @property
    def schemas(self) -> tuple[str, ...]:
        """The hashes of the lists in their order, each once."""
        if not self._newer and self.base is None:  # a fast path for names without lists, such as symlinks
            return ()
        return tuple(dict.fromkeys(seen.schema for seen in self.lists))

    @property
    def written(self) -> set[str]:
        """The hashes of the lists that do not come from readers."""
        return {seen.schema for seen in self.lists if seen.authority > READ}


def lists_at(newest_first: Iterable[SeenSchema], time_us: int = MAX_TIME_US, *, by_parts: bool = False) -> KnownLists:
    """Rule 12.7: return the lists that make up the columns at a time.

    These are the newest base list up to that time and all lists that are newer than it, or all lists without a base
    list.
    """
    found = KnownLists(by_parts=by_parts)
    seen = first = None
    for seen in newest_first:
        found.take(seen if seen.time_us <= time_us else seen._replace(authority=min(seen.authority, ADDED)))
        first = first or (seen if seen.time_us <= time_us else None)
        if found.base is not None:
            break
    # For the columns now, `first` stays None: lists that are added later may be newer than the first one here.
    return found if time_us == MAX_TIME_US else found.beginning_with(first or seen)


class JoinedSchemas:
    """Joins lists of columns and caches the results."""

    def __init__(self, contents: Contents):
        self._contents = contents
        self._found: BoundedCache[tuple[str, ...], str] = BoundedCache()

    def joined(self, known: KnownLists) -> str | None:
        """Return the hash of the joined lists; None without a list."""
        schemas = known.schemas
        if len(schemas) < 2:
            return schemas[0] if schemas else None
        found = self._found.get(schemas)
        return found or self._found.keep(schemas, joined_hash(schemas, self._contents.schema), len(schemas))


class Schemas:
    """The columns of datasets, now and at earlier times."""

    def __init__(self, contents: Contents, seen: SeenSchemas, naming: NameResolver):
        """contents: the columns of each list; seen: the mentions of lists; naming: the datasets that names mean."""
        self._contents = contents
        self._kept = seen
        self._naming = naming
        self._joined = JoinedSchemas(contents).joined
        self._lists: dict[Name, KnownLists] = {}
        self._columns: dict[Name, Columns] = {}

    def see(self, name: Name, uses: Sequence[SeenSchema]) -> set[Name]:
        """Store mentions under a name; return the datasets whose columns may have changed."""
        mentions = self.by_dataset(name, uses)
        before = {dataset: self.newest(dataset) for dataset in mentions}
        for dataset in mentions:
            self.columns(dataset)  # cached before the change, so that `settle` can compare
        self._kept.see(name, uses)
        for dataset, own in mentions.items():
            for seen in own:
                self._known(dataset).take(seen)
        return {dataset for dataset, schema in before.items() if self.newest(dataset) != schema}

    def by_dataset(self, name: Name, uses: Sequence[SeenSchema]) -> dict[Name, list[SeenSchema]]:
        """Group mentions under one name by the dataset that they mean, with the newest mention of each list."""
        newest: dict[tuple[Name, str, int], SeenSchema] = {}
        constant = uses[0].dataset(name, self._naming) if self._naming.is_constant(name) else None
        for seen in uses:
            key = (constant or seen.dataset(name, self._naming), seen.schema, seen.authority)
            newest[key] = max(newest.get(key, seen), seen)
        found: dict[Name, list[SeenSchema]] = {}
        for (dataset, *_), seen in newest.items():
            found.setdefault(dataset, []).append(seen)
        return found

    def forget(self, begun: Iterable[Name]) -> None:
        """Clear the cached lists because names mean other datasets now.

        begun: new generations, which had no columns before.
        """
        self._lists.clear()
        for dataset in begun:
            self._columns.setdefault(dataset, NO_COLUMNS)

    def part(self, names: Iterable[Name]) -> set[Name]:
        """Clear the cached lists of the datasets that names mean, because events now mention parts of them.

        Returns these datasets.
        """
        meant = {dataset for name in names for dataset in self._naming.datasets_in(Span(name))}
        found = {dataset for dataset in self._lists if dataset.plain in {each.plain for each in meant}}
        for dataset in found:
            self.columns(dataset)
            del self._lists[dataset]
        return meant | found

    def newest(self, dataset: Name) -> str | None:
        """Return the hash of the columns of a dataset now; None without a list."""
        return self._joined(self._known(dataset))

    def at(self, dataset: Name, time_us: int) -> str | None:
        """Return the hash of the columns of a dataset at a time (`lists_at`); None without a list."""
        known = self._known(dataset)
        last = known.base or known.newest
        if last is None or last.time_us <= time_us:  # most runs are later than all lists
            return self._joined(known)
        names = self._naming.names_of(dataset)
        if len(names) > 1:
            self._kept.keep_whole(names)
        if known.base is None:
            return self._joined(known.beginning_with(self._first(dataset, time_us)))
        return self._joined(self._read(dataset, time_us))

    def renewed(self, name: Name, uses: Sequence[SeenSchema]) -> Iterator[Span]:
        """Yield the datasets whose columns change by mentions that are not stored yet, and the times that change.

        For all other times, the results of `at` stay the same.
        """
        for dataset, mentions in self.by_dataset(name, uses).items():
            keys: dict[str | None, frozenset[str]] = {None: frozenset()}
            for seen in mentions:
                before = self.at(dataset, seen.time_us)
                own, known = (
                    keys.get(schema) or keys.setdefault(schema, self._keys(schema, dataset))
                    for schema in (seen.schema, before)
                )
                if not own <= known or not seen.credible:
                    yield Span(dataset)  # newer lists also count for earlier times
                elif before and lists_in(before)[0] != seen.schema and self._leads(dataset, seen):
                    first = self._first(dataset, seen.time_us)
                    is_earliest = first is not None and first.time_us > seen.time_us
                    yield Span(dataset) if is_earliest else Span(dataset, seen.time_us)
                elif seen.authority > ADDED and own != known:
                    yield Span(dataset, seen.time_us)

    def _leads(self, dataset: Name, seen: SeenSchema) -> bool:
        """Tell whether a mention may be the first list, whose order of columns SQL that inserts by position uses."""
        base = self._known(dataset).base
        return base is None or base.time_us > seen.time_us or seen.authority > ADDED

    def columns(self, dataset: Name) -> Columns:
        """Return the columns that a dataset has now."""
        found = self._columns.get(dataset)
        return found if found is not None else self._look(dataset)

    def key(self, dataset: Name, column: str) -> str:
        """Return the key of a column of a dataset (`Columns.key`)."""
        return self.columns(dataset).key(column)

    def settle(self, datasets: Iterable[Name]) -> set[Name]:
        """Read the columns of datasets again; return those whose columns may have other keys now."""
        changed = set()
        for dataset in datasets:
            before, now = self._columns.get(dataset), self._look(dataset)
            if before is None or not now.matches_like(before):
                changed.add(dataset)
        return changed

    def base(self, dataset: Name) -> SeenSchema | None:
        """Return the base list of a dataset now; None without one."""
        return self._known(dataset).base

    def written_keys(self, dataset: Name) -> frozenset[str]:
        """Return the keys of the columns in lists that do not come from readers."""
        return frozenset().union(*(self._keys(schema, dataset) for schema in self._known(dataset).written))

    def _look(self, dataset: Name) -> Columns:
        schema = self.newest(dataset)
        columns = self._columns[dataset] = Columns(self._contents.schema(schema)) if schema else NO_COLUMNS
        return columns

    def _keys(self, schema: str | None, dataset: Name) -> frozenset[str]:
        if schema is None:
            return frozenset()
        columns = self.columns(dataset)
        return frozenset(columns.key(".".join(path)) for path in self._contents.schema(schema))

    def _known(self, dataset: Name) -> KnownLists:
        if dataset not in self._lists:
            self._lists[dataset] = self._read(dataset, MAX_TIME_US)
        return self._lists[dataset]

    def _first(self, dataset: Name, time_us: int) -> SeenSchema | None:
        """Return the newest mention up to a time, else the earliest later one."""
        upto = (next(history, None) for history in self._histories(dataset, time_us + 1))
        found = max((seen for seen in upto if seen), default=None)
        return found or min(chain.from_iterable(self._histories(dataset)), default=None)

    def _read(self, dataset: Name, time_us: int) -> KnownLists:
        histories = list(self._histories(dataset))
        newest_first = histories[0] if len(histories) == 1 else merge(*histories, reverse=True)
        by_parts = any(map(self._kept.is_parted, self._naming.names_of(dataset)))
        return lists_at(newest_first, time_us, by_parts=by_parts)

    def _histories(self, dataset: Name, until_us: int = MAX_TIME_US) -> Iterator[Iterator[SeenSchema]]:
        """Yield the mentions under each name that means a dataset, the newest first.

        The end of a span is included, because a DROP or RENAME describes the dataset that it ends.
        """
        for span in self._naming.uses(dataset):
            yield self._mentions(Span(span.name, span.since_us, min(span.until_us + 1, until_us)), dataset)

    def _mentions(self, span: Span, dataset: Name) -> Iterator[SeenSchema]:
        kept = self._kept.newest_first(span)
        return (seen for seen in kept if seen.dataset(span.name, self._naming) == dataset)


def seen_schemas(fact: RunFacts) -> Iterator[tuple[Name, SeenSchema]]:
    """Yield (dataset name as sent, mention) for each list of columns in an event.

    A list that comes with a DROP or RENAME describes the dataset just before (rule 10.8).
    """
    order, said = fact.order, fact.content
    for place, use in enumerate((*said.inputs, *said.outputs)):
        if use.schema and use.schema != DELETED:
            is_output = place >= len(said.inputs)
            seen = SeenSchema(*order, place, use.schema, authority_of(said, use, is_output=is_output))
            changes = use.lifecycle == "DROP" or (use.lifecycle == "RENAME" and use.previous)
            if changes and is_output:
                name = use.previous if use.lifecycle == "RENAME" else None
                yield name or use.name, seen._replace(place=place + _BEFORE)
            else:
                yield use.name, seen
