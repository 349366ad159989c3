"""The history of datasets: the drops, renames and writes of runs. Locations are names after symlinks (rule 2.3)."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")

EVER_US = 1 << 62
"""A time after all events, in microseconds."""


class Change(NamedTuple):
    """A drop (`to` is None) or a rename of the dataset at a location."""

    time_us: int
    location: Name
    to: Name | None

    @property
    def ended(self) -> Name:
        """The location whose generation ends: the dropped one, or the new name of a rename."""
        return self.to or self.location


class Span(NamedTuple):
    """Mentions of a name in a time span: from `since_us` up to, but not including, `until_us`."""

    name: Name
    since_us: int = -EVER_US
    until_us: int = EVER_US


def joined(spans: Iterable[Span]) -> set[Span]:
    """Merge overlapping spans of each name. A batch with a year of nightly runs has many of them."""
    found: list[Span] = []
    for span in sorted(spans):
        last = found[-1] if found else None
        if last and last.name == span.name and span.since_us <= last.until_us:
            found[-1] = last._replace(until_us=max(last.until_us, span.until_us))
        else:
            found.append(span)
    return set(found)


class DatasetHistory:
    """Stores changes and writes by location and by run; `Generations` derives from it what names mean.

    renamed: the renames away from each location, as (time, new location).
    """

    def __init__(self) -> None:
        self.renamed: dict[Name, list[tuple[int, Name]]] = {}
        self._onto: dict[Name, list[tuple[int, Name]]] = {}
        self._ends: dict[Name, list[tuple[int, str]]] = {}
        self._writes: dict[Name, list[tuple[int, str]]] = {}
        self._changes: dict[str, frozenset[Change]] = {}
        self._ended_by: dict[tuple[str, Name], set[Change]] = {}
        self._written: dict[str, frozenset[tuple[int, Name]]] = {}
        self._taken_back: set[Name] = set()

    def touches(self, location: Name) -> bool:
        """Return whether a run dropped a dataset at a location, or renamed one from or to it."""
        return location in self._ends or location in self.renamed

    def touched(self) -> Iterable[Name]:
        """Return the locations where a generation has ended."""
        return self._ends

    def ends(self, location: Name) -> Sequence[tuple[int, str]]:
        """Return (time, run key) of each end of a generation at a location, the oldest first."""
        return self._ends.get(location, ())

    def runs(self) -> Iterable[str]:
        """Return the runs that drop, rename, or write to a location with a drop or rename."""
        return {*self._changes, *self._written}

    def changes(self, run_key: str) -> frozenset[Change]:
        """Return the drops and renames of a run."""
        return self._changes.get(run_key, frozenset())

    def writes(self, run_key: str) -> frozenset[tuple[int, Name]]:
        """Return (time, location) of the writes of a run to locations with a drop or rename."""
        return self._written.get(run_key, frozenset())

    def changed_by(self, run_key: str, location: Name, lifecycle: str) -> int | None:
        """Return when a run dropped the dataset at a location, or renamed one to it; None if it did not.

        lifecycle: DROP or RENAME.
        """
        ended, drops = self._ended_by.get((run_key, location), ()), lifecycle == "DROP"
        return max((each.time_us for each in ended if (each.to is None) == drops), default=None)

    def taken_back(self) -> set[Name]:
        """Return the generations that ceased to exist since the last call, because a drop or rename was removed."""
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
        """Return the generation that began with the newest end up to a time.

        Of several ends at that time, the one with the smallest run key counts.
        """
        ends = self._ends.get(location, ())
        newest = _last(ends, time_us + 1)
        return location._replace(generation=ends[bisect_left(ends, newest[:1])][1]) if newest else location

    def _begins(self, dataset: Name) -> Iterator[int]:
        """Yield the times at which a generation began; there are several if its run ended several generations."""
        if not dataset.generation:
            yield -EVER_US
        for time_us in self._ends_by(dataset.generation, dataset.plain):
            if self._begun(dataset.plain, time_us) == dataset:
                yield time_us

    def _ends_by(self, run_key: str, location: Name) -> set[int]:
        return {each.time_us for each in self._ended_by.get((run_key, location), ())}

    def _ends_it(self, run_key: str, dataset: Name) -> bool:
        ended = self._ends_by(run_key, dataset.plain)
        return any(self._begun(dataset.plain, time_us - 1) == dataset for time_us in ended)

    def _is_renamed_to(self, location: Name, time_us: int) -> bool:
        found = first_from(self._onto.get(location, ()), time_us)
        return found is not None and found[0] == time_us

    def _before(self, location: Name, time_us: int) -> int:
        """Return the time of the last change at a location before a time, else -EVER_US."""
        both = (
            _last(self._ends.get(location, ()), time_us),
            _last(self.renamed.get(location, ()), time_us),
        )
        return max((each[0] for each in both if each), default=-EVER_US)

    def _after(self, location: Name, time_us: int) -> int:
        """Return the time of the next change at a location after a time, else EVER_US."""
        both = (
            first_from(self._ends.get(location, ()), time_us + 1),
            first_from(self.renamed.get(location, ()), time_us + 1),
        )
        return min((each[0] for each in both if each), default=EVER_US)

    def _leading(self, span: Span) -> Iterator[Span]:
        """Yield a span, and the spans of the names that were renamed into it, over any number of renames."""
        todo = [span]
        while todo:
            span = todo.pop()
            yield span
            onto = self._onto.get(span.name, [])
            for time_us, before in onto[bisect_left(onto, (span.since_us,)) : bisect_left(onto, (span.until_us,))]:
                todo.append(Span(before, self._before(before, time_us), time_us))

    def _spans(self, dataset: Name) -> Iterator[Span]:
        """Yield the spans in which the name at the location of a generation refers to that generation.

        A span begins with the generation or after the last rename, and lasts until the next end.
        """
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
    """Return the first item at or after a time; `locations` is sorted by time."""
    index = bisect_left(locations, (time_us,))
    return locations[index] if index < len(locations) else None


def _last(locations: Sequence[tuple[int, T]], time_us: int) -> tuple[int, T] | None:
    index = bisect_left(locations, (time_us,))
    return locations[index - 1] if index else None


def _remove(kept: dict[Name, list[tuple[int, T]]], name: Name, at_us: tuple[int, T]) -> None:
    kept[name].remove(at_us)
    if not kept[name]:
        del kept[name]
