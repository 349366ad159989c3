"""Rule 10: which generation of a dataset is meant, by what runs drop, rename and write."""

from bisect import insort
from collections.abc import Iterator
from typing import TypeVar

from headwater.lineage.names.dataset_history import EVER_US, Change, DatasetHistory, Span, first_from
from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")

_LOOKED_AT = 8
"""Things that happened to a dataset without its being written: a batch tells of drops before it tells of writes."""


class Generations(DatasetHistory):
    """What happened to datasets; may be told in any order and again."""

    # What is meant

    def meaning(self, location: Name, time_us: int) -> Name:
        """Follow a mention in time: a rename carries it on; an end, or nothing at all, stops it."""
        while self.touches(location):
            away = first_from(self.renamed.get(location, ()), time_us + 1)
            end = first_from(self._ends.get(location, ()), time_us + 1)
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
        if not dataset.generation and not self.touches(dataset):
            yield Span(dataset)
            return
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
        if not self.touches(span.name):
            return {span.name}
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

    # What happened

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

    def _meanings_back(self, location: Name, since_us: int, time_us: int) -> Iterator[Name]:
        """Yield what a location meant at a time, then before each thing that happened to it, newest first."""
        yield self.meaning(location, time_us)
        at_us = self._before(location, time_us + 1)
        while at_us >= since_us and at_us > -EVER_US:
            yield self.meaning(location, at_us - 1)
            at_us = self._before(location, at_us)

    def _concerned(self, change: Change) -> Iterator[Span]:
        """Yield the mentions whose meaning rests on a change."""
        for location in {change.location, change.ended}:
            yield from self._from(location, change.time_us)

    def _from(self, location: Name, time_us: int) -> Iterator[Span]:
        """Yield mentions from what happened last before a time on, also by names that led here in between."""
        end = first_from(self._ends.get(location, ()), time_us + 1)
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
            write = first_from(self._writes.get(location, ()), time_us + 1)
            time_us = min(self._after(location, time_us), write[0] if write else EVER_US)
        return EVER_US

    def _tells(self, location: Name, time_us: int) -> bool:
        """Tell whether a write may be the first proof that a generation lived: after two other runs' it is none."""
        earlier = Span(location, self._before(location, time_us + 1), time_us)
        writers = self._writers(earlier, time_us)
        first = next(writers, None)
        return all(run_key == first for run_key in writers)


def _keep(by_run: dict[str, frozenset[T]], run_key: str, found: frozenset[T]) -> None:
    if found:
        by_run[run_key] = found
    else:
        by_run.pop(run_key, None)
