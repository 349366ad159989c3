"""Rule 10: find the generation of a dataset that a mention means, from the drops, renames and writes of runs."""

from bisect import insort
from collections.abc import Iterator
from typing import TypeVar

from headwater.lineage.names.dataset_history import EVER_US, Change, DatasetHistory, Span, first_from
from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")

_LOOKED_AT = 8
"""The number of changes and writes that a search examines: a batch may bring many drops before it brings writes."""


class Generations(DatasetHistory):
    """Resolves mentions to generations. You can add changes and writes in any order and repeatedly."""

    def meaning(self, location: Name, time_us: int) -> Name:
        """Return the generation that a mention means (rule 10.3).

        It follows renames until a generation ends first or no change follows.
        """
        while self.touches(location):
            away = first_from(self.renamed.get(location, ()), time_us + 1)
            end = first_from(self._ends.get(location, ()), time_us + 1)
            if away is None or (end is not None and end[0] < away[0]):
                return self._begun(location, time_us)
            time_us, location = away
        return location

    def read(self, location: Name, since_us: int, time_us: int, run_key: str) -> Name:
        """Return the generation that an input of a run means (rule 10.5).

        This is the newest one that lived between `since_us` and `time_us`, preferably one that the run does not end. If
        none lived, it is the generation that the mention means if other runs wrote it, else the newest one that lived
        before.
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
        """Yield the times at which a location, or one that was renamed to it, means a generation.

        If a location was renamed twice at the same instant, both renames count.
        """
        if not dataset.generation and not self.touches(dataset):
            yield Span(dataset)
            return
        for span in self._spans(dataset):
            yield from self._leading(span)

    def newest(self, location: Name) -> Name:
        """Return the newest generation at a location, even if it has not lived yet."""
        return self._begun(location.plain, EVER_US)

    def newest_lived(self, location: Name) -> Name:
        """Return the newest generation at a location that lived."""
        plain = location.plain
        every = (plain._replace(generation=run_key) for _, run_key in reversed(self._ends.get(plain, [])))
        return next((each for each in every if self.lived(each)), plain)

    def meanings(self, location: Name) -> Iterator[Name]:
        """Yield all generations that a location has meant, the newest first. The same one may occur several times."""
        return self._meanings_back(location, -EVER_US, EVER_US)

    def meanings_in(self, span: Span) -> set[Name]:
        """Return the generations that a location means in a time span, and the one at the start of the span."""
        if not self.touches(span.name):
            return {span.name}
        found = self._meanings_back(span.name, span.since_us, span.until_us - 1)
        return {*found, self._begun(span.name, span.since_us)}

    def lived(self, dataset: Name, upto_us: int = EVER_US, *, but: str | None = None) -> bool:
        """Return whether a generation lived at or before a time (rule 10.6); but: a run whose writes do not count."""
        if not dataset.generation:
            return True
        begun = (at for at in self._begins(dataset) if at <= upto_us)
        renamed = any(self._is_renamed_to(dataset.plain, time_us) for time_us in begun)
        return renamed or self.written(dataset, upto_us, but=but)

    def written(self, dataset: Name, upto_us: int = EVER_US, *, but: str | None = None) -> bool:
        """Return whether a run other than `but` wrote a generation at or before a time."""
        return any(run_key != but for span in self.uses(dataset) for run_key in self._writers(span, upto_us))

    def stands(self, dataset: Name) -> bool:
        """Return whether a generation exists now: it lived, and it is the newest one."""
        return dataset == self.newest(dataset) and self.lived(dataset)

    def is_there(self, location: Name) -> bool:
        """Return whether a dataset exists at a location now: it was not dropped, or it was created again."""
        return self.lived(self.newest(location))

    def set_changes(self, run_key: str, after: frozenset[Change]) -> list[Span]:
        """Replace the drops and renames of a run; return the locations and times whose meaning changes."""
        before = self.changes(run_key)
        moved = [span for change in before - after for span in self._concerned(change)]
        for change in before - after:
            self._forget(run_key, change)
        for change in after - before:
            self._take(run_key, change)
        _keep(self._changes, run_key, after)
        return moved + [span for change in after - before for span in self._concerned(change)]

    def set_writes(self, run_key: str, after: frozenset[tuple[int, Name]]) -> list[Span]:
        """Replace the writes of a run to locations with a drop or rename; return the same as `set_changes`."""
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
        """Yield what a location means at a time, then what it meant before each earlier change, the newest first."""
        yield self.meaning(location, time_us)
        at_us = self._before(location, time_us + 1)
        while at_us >= since_us and at_us > -EVER_US:
            yield self.meaning(location, at_us - 1)
            at_us = self._before(location, at_us)

    def _concerned(self, change: Change) -> Iterator[Span]:
        """Yield the mentions whose meaning depends on a change."""
        for location in {change.location, change.ended}:
            yield from self._from(location, change.time_us)

    def _from(self, location: Name, time_us: int) -> Iterator[Span]:
        """Yield the mentions since the last change before a time, also by names that were renamed to the location."""
        end = first_from(self._ends.get(location, ()), time_us + 1)
        for span in self._leading(Span(location, self._before(location, time_us), end[0] if end else EVER_US)):
            yield self._concerning(span)

    def _concerning(self, span: Span) -> Span:
        """Extend a span up to the time when the next generation lives: until then, an input means the earlier one."""
        return span._replace(until_us=self._lived_from(span.name, span.until_us))

    def _lived_from(self, location: Name, time_us: int) -> int:
        """Return the first time at or after `time_us` at which a location means a generation that has lived.

        Returns EVER_US if there is none, or if the search finds none among `_LOOKED_AT` changes and writes.
        """
        for _ in range(_LOOKED_AT):
            if time_us == EVER_US or self.lived(self.meaning(location, time_us), time_us):
                return time_us
            write = first_from(self._writes.get(location, ()), time_us + 1)
            time_us = min(self._after(location, time_us), write[0] if write else EVER_US)
        return EVER_US

    def _tells(self, location: Name, time_us: int) -> bool:
        """Return whether a write may be the first proof that a generation lived, because at most one run wrote it."""
        earlier = Span(location, self._before(location, time_us + 1), time_us)
        writers = self._writers(earlier, time_us)
        first = next(writers, None)
        return all(run_key == first for run_key in writers)


def _keep(by_run: dict[str, frozenset[T]], run_key: str, found: frozenset[T]) -> None:
    if found:
        by_run[run_key] = found
    else:
        by_run.pop(run_key, None)
