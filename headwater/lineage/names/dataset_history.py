"""What happened to datasets, in the order of time: what runs drop, rename and write; locations are bound names."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")

EVER_US = 1 << 62
"""Later than any event."""


class Change(NamedTuple):
    """A run drops what stands at a location (`to` None), or renames it."""

    time_us: int
    location: Name
    to: Name | None

    @property
    def ended(self) -> Name:
        """Where a generation ends: what is dropped, or what stood under the new name."""
        return self.to or self.location


class Span(NamedTuple):
    """The times in which a name is mentioned: from `since_us` on, up to but not at `until_us`."""

    name: Name
    since_us: int = -EVER_US
    until_us: int = EVER_US


def joined(spans: Iterable[Span]) -> set[Span]:
    """Join spans of a name that overlap: a batch of a year of nights tells the same times again and again."""
    found: list[Span] = []
    for span in sorted(spans):
        last = found[-1] if found else None
        if last and last.name == span.name and span.since_us <= last.until_us:
            found[-1] = last._replace(until_us=max(last.until_us, span.until_us))
        else:
            found.append(span)
    return set(found)


class DatasetHistory:
    """Keeps it by location and by run; `Generations` reads what names mean from it."""

    def __init__(self) -> None:
        """Know nothing. renamed: by location, when to what."""
        self.renamed: dict[Name, list[tuple[int, Name]]] = {}
        self._onto: dict[Name, list[tuple[int, Name]]] = {}
        self._ends: dict[Name, list[tuple[int, str]]] = {}
        self._writes: dict[Name, list[tuple[int, str]]] = {}
        self._changes: dict[str, frozenset[Change]] = {}
        self._ended_by: dict[tuple[str, Name], set[Change]] = {}
        self._written: dict[str, frozenset[tuple[int, Name]]] = {}
        self._taken_back: set[Name] = set()

    def touches(self, location: Name) -> bool:
        """Tell whether anything was dropped at or renamed from or to a location."""
        return location in self._ends or location in self.renamed

    def touched(self) -> Iterable[Name]:
        """Return the locations where a generation has ended."""
        return self._ends

    def ends(self, location: Name) -> Sequence[tuple[int, str]]:
        """Return when a generation ended at a location, and by which run, oldest first."""
        return self._ends.get(location, ())

    def runs(self) -> Iterable[str]:
        """Return the runs that drop, rename, or write where something was dropped or renamed."""
        return {*self._changes, *self._written}

    def changes(self, run_key: str) -> frozenset[Change]:
        """Return what a run drops and renames."""
        return self._changes.get(run_key, frozenset())

    def writes(self, run_key: str) -> frozenset[tuple[int, Name]]:
        """Return when and where a run writes, as far as something was dropped or renamed there."""
        return self._written.get(run_key, frozenset())

    def changed_by(self, run_key: str, location: Name, lifecycle: str) -> int | None:
        """Return when a run dropped, or renamed something to, what stands at a location."""
        ended, drops = self._ended_by.get((run_key, location), ()), lifecycle == "DROP"
        return max((each.time_us for each in ended if (each.to is None) == drops), default=None)

    def taken_back(self) -> set[Name]:
        """Return the generations that runs were known to begin, and are no more, since this was last asked."""
        found, self._taken_back = self._taken_back, set()
        return found

    def _take(self, run_key: str, change: Change) -> None:
        if change.to is not None:
            insort(self.renamed.setdefault(change.location, []), (change.time_us, change.to))
            insort(self._onto.setdefault(change.to, []), (change.time_us, change.location))
        insort(self._ends.setdefault(change.ended, []), (change.time_us, run_key))
        self._ended_by.setdefault((run_key, change.ended), set()).add(change)

    def _forget(self, run_key: str, change: Change) -> None:
        if change.to is not None:
            _remove(self.renamed, change.location, (change.time_us, change.to))
            _remove(self._onto, change.to, (change.time_us, change.location))
        _remove(self._ends, change.ended, (change.time_us, run_key))
        self._ended_by[run_key, change.ended].discard(change)
        self._taken_back.add(change.ended._replace(generation=run_key))

    def _begun(self, location: Name, time_us: int) -> Name:
        """Return the generation that the newest end up to a time began; of ends at one instant the smallest run's."""
        ends = self._ends.get(location, ())
        newest = _last(ends, time_us + 1)
        return location._replace(generation=ends[bisect_left(ends, newest[:1])][1]) if newest else location

    def _begins(self, dataset: Name) -> Iterator[int]:
        """Yield when a generation began: a run may end more than one."""
        if not dataset.generation:
            yield -EVER_US
        for time_us in self._ends_by(dataset.generation, dataset.plain):
            if self._begun(dataset.plain, time_us) == dataset:
                yield time_us

    def _ends_by(self, run_key: str, location: Name) -> set[int]:
        """Return when a run ended generations at a location."""
        return {each.time_us for each in self._ended_by.get((run_key, location), ())}

    def _ends_it(self, run_key: str, dataset: Name) -> bool:
        """Tell whether it is this run that ends a generation."""
        ended = self._ends_by(run_key, dataset.plain)
        return any(self._begun(dataset.plain, time_us - 1) == dataset for time_us in ended)

    def _is_renamed_to(self, location: Name, time_us: int) -> bool:
        found = first_from(self._onto.get(location, ()), time_us)
        return found is not None and found[0] == time_us

    def _before(self, location: Name, time_us: int) -> int:
        """Return when something last happened at a location before a time."""
        both = (
            _last(self._ends.get(location, ()), time_us),
            _last(self.renamed.get(location, ()), time_us),
        )
        return max((each[0] for each in both if each), default=-EVER_US)

    def _after(self, location: Name, time_us: int) -> int:
        """Return when something next happens at a location after a time."""
        both = (
            first_from(self._ends.get(location, ()), time_us + 1),
            first_from(self.renamed.get(location, ()), time_us + 1),
        )
        return min((each[0] for each in both if each), default=EVER_US)

    def _leading(self, span: Span) -> Iterator[Span]:
        """Yield a span, and those of the names that renames have led into it, be it thousands of them in a row."""
        todo = [span]
        while todo:
            span = todo.pop()
            yield span
            onto = self._onto.get(span.name, [])
            for time_us, before in onto[bisect_left(onto, (span.since_us,)) : bisect_left(onto, (span.until_us,))]:
                todo.append(Span(before, self._before(before, time_us), time_us))

    def _spans(self, dataset: Name) -> Iterator[Span]:
        """Yield when its location means a generation: from its beginning, or the last rename away, to the next end."""
        location = dataset.plain
        for since_us in self._begins(dataset):
            end = first_from(self._ends.get(location, ()), since_us + 1)
            until_us = end[0] if end else EVER_US
            away = _last(self.renamed.get(location, ()), until_us + 1)
            span = Span(location, max(since_us, away[0]) if away else since_us, until_us)
            if span.since_us < span.until_us:
                yield span

    def _writers(self, span: Span, upto_us: int) -> Iterator[str]:
        writes = self._writes.get(span.name, [])
        until = min(span.until_us, upto_us + 1)
        first = bisect_left(writes, (span.since_us,))
        for index in range(first, len(writes)):
            time_us, run_key = writes[index]
            if time_us >= until:
                return
            yield run_key


def first_from(locations: Sequence[tuple[int, T]], time_us: int) -> tuple[int, T] | None:
    """Return the first thing that happened at a time or after it."""
    index = bisect_left(locations, (time_us,))
    return locations[index] if index < len(locations) else None


def _last(locations: Sequence[tuple[int, T]], time_us: int) -> tuple[int, T] | None:
    index = bisect_left(locations, (time_us,))
    return locations[index - 1] if index else None


def _remove(kept: dict[Name, list[tuple[int, T]]], name: Name, at_us: tuple[int, T]) -> None:
    kept[name].remove(at_us)
    if not kept[name]:
        del kept[name]
