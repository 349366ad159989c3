"""Rule 10: which generation of a dataset is meant, by what runs drop, rename and write; locations are bound names."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")

EVER_US = 1 << 62
"""Later than any event."""

_LOOKED_AT = 8
"""Things that happened to a dataset without its being written: a batch tells of drops before it tells of writes."""


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


class Generations:
    """What happened to datasets; may be told in any order and again."""

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

    # What is meant

    def meaning(self, location: Name, time_us: int) -> Name:
        """Follow a mention in time: a rename carries it on; an end, or nothing at all, stops it."""
        while self.touches(location):
            away = _first(self.renamed.get(location, ()), time_us + 1)
            end = _first(self._ends.get(location, ()), time_us + 1)
            if away is None or (end is not None and end[0] < away[0]):
                return self._begun(location, time_us)
            time_us, location = away
        return location

    def read(self, location: Name, since_us: int, time_us: int, run_key: str) -> Name:
        """Return the newest generation that lived in a window, if it can be other than one that the run itself ends.

        Where none did, the one that is meant, if others wrote it after all; else the newest that lived before.
        """
        meaning = self.meaning(location, time_us)
        if not self.touches(location):
            return meaning
        lived = [
            found
            for found in self._meanings_back(location, since_us, time_us)
            if self.lived(found, time_us, but=run_key)
        ]
        others = (found for found in lived if not self._ends_it(run_key, found))
        found = next(others, next(iter(lived), None))
        if found is not None or self.written(meaning, but=run_key):
            return found or meaning
        before = self._meanings_back(location, -EVER_US, time_us)
        return next((each for each in before if self.lived(each, time_us, but=run_key)), meaning)

    def uses(self, dataset: Name) -> Iterator[Span]:
        """Yield when a location, or one that renames led to it, means a generation.

        Of two renames of one location at one instant, both are taken to lead to theirs.
        """
        for span in self._spans(dataset):
            yield from self._leading(span)

    def newest(self, location: Name) -> Name:
        """Return the newest generation at a location, be it only coming."""
        return self._begun(location.plain, EVER_US)

    def newest_lived(self, location: Name) -> Name:
        """Return the newest generation at a location that lived."""
        plain = location.plain
        every = (plain._replace(generation=run_key) for _, run_key in reversed(self._ends.get(plain, [])))
        return next((each for each in every if self.lived(each)), plain)

    def meanings(self, location: Name) -> Iterator[Name]:
        """Yield all that a location has ever meant, the newest first; one that came back comes twice."""
        return self._meanings_back(location, -EVER_US, EVER_US)

    def meanings_in(self, span: Span) -> set[Name]:
        """Return what a location means in a span, and what stood there when it began."""
        found = self._meanings_back(span.name, span.since_us, span.until_us - 1)
        return {*found, self._begun(span.name, span.since_us)}

    def lived(self, dataset: Name, upto_us: int = EVER_US, *, but: str | None = None) -> bool:
        """Tell whether a generation was there at or before a time; but: a run whose own writes prove nothing."""
        if not dataset.generation:
            return True
        begun = (at for at in self._begins(dataset) if at <= upto_us)
        renamed = any(self._is_renamed_to(dataset.plain, time_us) for time_us in begun)
        return renamed or self.written(dataset, upto_us, but=but)

    def written(self, dataset: Name, upto_us: int = EVER_US, *, but: str | None = None) -> bool:
        """Tell whether a run other than `but` wrote a generation at or before a time."""
        return any(run_key != but for span in self.uses(dataset) for run_key in self._writers(span, upto_us))

    def stands(self, dataset: Name) -> bool:
        """Tell whether a generation is there now: it lived, and none has begun since."""
        return dataset == self.newest(dataset) and self.lived(dataset)

    def is_there(self, location: Name) -> bool:
        """Tell whether something stands at a location now: it was not dropped, or was made again."""
        return self.lived(self.newest(location))

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

    # What happened

    def taken_back(self) -> set[Name]:
        """Return the generations that runs were known to begin, and are no more, since this was last asked."""
        found, self._taken_back = self._taken_back, set()
        return found

    def set_changes(self, run_key: str, after: frozenset[Change]) -> list[Span]:
        """Replace what a run drops and renames; returns the locations that mean something else now, and when."""
        before = self.changes(run_key)
        moved = [span for change in before - after for span in self._concerned(change)]
        for change in before - after:
            self._forget(run_key, change)
        for change in after - before:
            self._take(run_key, change)
        _keep(self._changes, run_key, after)
        return moved + [span for change in after - before for span in self._concerned(change)]

    def set_writes(self, run_key: str, after: frozenset[tuple[int, Name]]) -> list[Span]:
        """Replace where and when a run writes, as far as something was dropped or renamed there; returns as above."""
        after = frozenset((time_us, location) for time_us, location in after if self.touches(location))
        before = self.writes(run_key)
        for time_us, location in before - after:
            self._writes[location].remove((time_us, run_key))
        for time_us, location in after - before:
            insort(self._writes.setdefault(location, []), (time_us, run_key))
        _keep(self._written, run_key, after)
        told = ((location, at_us) for at_us, location in before ^ after if self._tells(location, at_us))
        proved = {self.meaning(location, at_us) for location, at_us in told}
        return [self._concerning(span) for dataset in proved for span in self.uses(dataset)]

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

    def _meanings_back(self, location: Name, since_us: int, time_us: int) -> Iterator[Name]:
        """Yield what a location meant at a time, then before each thing that happened to it, newest first."""
        yield self.meaning(location, time_us)
        at_us = self._before(location, time_us + 1)
        while at_us >= since_us and at_us > -EVER_US:
            yield self.meaning(location, at_us - 1)
            at_us = self._before(location, at_us)

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

    def _is_renamed_to(self, location: Name, time_us: int) -> bool:
        found = _first(self._onto.get(location, ()), time_us)
        return found is not None and found[0] == time_us

    def _ends_it(self, run_key: str, dataset: Name) -> bool:
        """Tell whether it is this run that ends a generation."""
        ended = self._ends_by(run_key, dataset.plain)
        return any(self._begun(dataset.plain, time_us - 1) == dataset for time_us in ended)

    def _before(self, location: Name, time_us: int) -> int:
        """Return when something last happened at a location before a time."""
        both = (_last(self._ends.get(location, ()), time_us), _last(self.renamed.get(location, ()), time_us))
        return max((each[0] for each in both if each), default=-EVER_US)

    def _after(self, location: Name, time_us: int) -> int:
        """Return when something next happens at a location after a time."""
        both = (_first(self._ends.get(location, ()), time_us + 1), _first(self.renamed.get(location, ()), time_us + 1))
        return min((each[0] for each in both if each), default=EVER_US)

    def _concerned(self, change: Change) -> Iterator[Span]:
        """Yield the mentions whose meaning rests on a change."""
        for location in {change.location, change.ended}:
            yield from self._from(location, change.time_us)

    def _from(self, location: Name, time_us: int) -> Iterator[Span]:
        """Yield mentions from what happened last before a time on, also by names that led here in between."""
        end = _first(self._ends.get(location, ()), time_us + 1)
        for span in self._leading(Span(location, self._before(location, time_us), end[0] if end else EVER_US)):
            yield self._concerning(span)

    def _concerning(self, span: Span) -> Span:
        """Return a span with later mentions, until another generation has lived: an input means what lived before."""
        return span._replace(until_us=self._lived_from(span.name, span.until_us))

    def _lived_from(self, location: Name, time_us: int) -> int:
        """Return from when on, at a time or after it, what a location means has lived; of many that have not, none."""
        for _ in range(_LOOKED_AT):
            if time_us == EVER_US or self.lived(self.meaning(location, time_us), time_us):
                return time_us
            write = _first(self._writes.get(location, ()), time_us + 1)
            time_us = min(self._after(location, time_us), write[0] if write else EVER_US)
        return EVER_US

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
            end = _first(self._ends.get(location, ()), since_us + 1)
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

    def _tells(self, location: Name, time_us: int) -> bool:
        """Tell whether a write may be the first proof that a generation lived: after two other runs' it is none."""
        earlier = Span(location, self._before(location, time_us + 1), time_us)
        writers = self._writers(earlier, time_us)
        first = next(writers, None)
        return all(run_key == first for run_key in writers)


def _first(locations: Sequence[tuple[int, T]], time_us: int) -> tuple[int, T] | None:
    index = bisect_left(locations, (time_us,))
    return locations[index] if index < len(locations) else None


def _last(locations: Sequence[tuple[int, T]], time_us: int) -> tuple[int, T] | None:
    index = bisect_left(locations, (time_us,))
    return locations[index - 1] if index else None


def _keep(by_run: dict[str, frozenset[T]], run_key: str, found: frozenset[T]) -> None:
    if found:
        by_run[run_key] = found
    else:
        by_run.pop(run_key, None)


def _remove(kept: dict[Name, list[tuple[int, T]]], name: Name, at_us: tuple[int, T]) -> None:
    kept[name].remove(at_us)
    if not kept[name]:
        del kept[name]
