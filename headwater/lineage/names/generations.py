"""Rule 10: determine the generations of datasets from the drops, renames and writes of runs.

A new generation of a dataset begins when a run drops the dataset or renames another dataset to its location. A location
is the name that remains after symlinks are followed (rule 2.3).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")

MAX_TIME_US = 1 << 62
"""A time after all events, in microseconds."""


class DatasetChange(NamedTuple):
    """A drop or a rename of the dataset at `location`.

    new_location: the new location after a rename; None for a drop.
    """

    time_us: int
    location: Name
    new_location: Name | None

    @property
    def ended_location(self) -> Name:
        """The location at which a generation ends: the dropped location, or the location to which a rename leads."""
        return self.new_location or self.location


class NameSpan(NamedTuple):
    """A name and a time span from `since_us` up to, but not including, `until_us`; stands for the mentions in it."""

    name: Name
    since_us: int = -MAX_TIME_US
    until_us: int = MAX_TIME_US


def merge_spans(spans: Iterable[NameSpan]) -> set[NameSpan]:
    """Merge the overlapping and adjacent spans of each name.

    A batch with a year of nightly runs has many such spans.
    """
    found: list[NameSpan] = []
    for span in sorted(spans):
        last = found[-1] if found else None
        if last and last.name == span.name and span.since_us <= last.until_us:
            found[-1] = last._replace(until_us=max(last.until_us, span.until_us))
        else:
            found.append(span)
    return set(found)


class DatasetHistory:
    """Stores the changes and writes of runs by location and by run. `Generations` uses them to resolve names.

    renamed: for each location, the (time in microseconds, new location) of each rename away from it, sorted by time.
    """

    def __init__(self) -> None:
        self.renamed: dict[Name, list[tuple[int, Name]]] = {}
        self._renames_to: dict[Name, list[tuple[int, Name]]] = {}
        self._ends: dict[Name, list[tuple[int, str]]] = {}
        self._writes: dict[Name, list[tuple[int, str]]] = {}
        self._changes_by_run: dict[str, frozenset[DatasetChange]] = {}
        self._changes_by_end: dict[tuple[str, Name], set[DatasetChange]] = {}
        self._writes_by_run: dict[str, frozenset[tuple[int, Name]]] = {}
        self._removed_generations: set[Name] = set()

    def has_changes(self, location: Name) -> bool:
        """Return whether a run dropped a dataset at a location, or renamed a dataset from or to the location."""
        return location in self._ends or location in self.renamed

    def changed_locations(self) -> Iterable[Name]:
        """Return the locations at which at least one generation has ended."""
        return self._ends

    def generation_ends(self, location: Name) -> Sequence[tuple[int, str]]:
        """Return (time in microseconds, run key) for each end of a generation at a location, the oldest first."""
        return self._ends.get(location, ())

    def changing_runs(self) -> Iterable[str]:
        """Return the keys of the runs that drop or rename a dataset, or write to a location with a drop or rename."""
        return {*self._changes_by_run, *self._writes_by_run}

    def changes_of_run(self, run_key: str) -> frozenset[DatasetChange]:
        """Return the drops and renames of a run."""
        return self._changes_by_run.get(run_key, frozenset())

    def writes_of_run(self, run_key: str) -> frozenset[tuple[int, Name]]:
        """Return (time in microseconds, location) for each write of a run to a location with a drop or rename."""
        return self._writes_by_run.get(run_key, frozenset())

    def last_change_us(self, run_key: str, location: Name, lifecycle: str) -> int | None:
        """Return the last time (us) at which a run dropped the dataset at a location, or renamed a dataset to it.

        Returns None if the run did not do so.
        lifecycle: `DROP` to look for drops; any other value looks for renames.
        """
        ended, drops = self._changes_by_end.get((run_key, location), ()), lifecycle == "DROP"
        return max((each.time_us for each in ended if (each.new_location is None) == drops), default=None)

    def pop_removed_generations(self) -> set[Name]:
        """Return the generations that began with a drop or rename which was removed since the last call."""
        found, self._removed_generations = self._removed_generations, set()
        return found

    def _add_change(self, run_key: str, change: DatasetChange) -> None:
        if change.new_location is not None:
            insort(self.renamed.setdefault(change.location, []), (change.time_us, change.new_location))
            insort(self._renames_to.setdefault(change.new_location, []), (change.time_us, change.location))
        insort(self._ends.setdefault(change.ended_location, []), (change.time_us, run_key))
        self._changes_by_end.setdefault((run_key, change.ended_location), set()).add(change)

    def _remove_change(self, run_key: str, change: DatasetChange) -> None:
        if change.new_location is not None:
            _remove_item(self.renamed, change.location, (change.time_us, change.new_location))
            _remove_item(self._renames_to, change.new_location, (change.time_us, change.location))
        _remove_item(self._ends, change.ended_location, (change.time_us, run_key))
        self._changes_by_end[run_key, change.ended_location].discard(change)
        self._removed_generations.add(change.ended_location._replace(generation=run_key))

    def _generation_at(self, location: Name, time_us: int) -> Name:
        """Return the generation of a location that began with the newest drop or rename at or before a time.

        If several runs changed the location at the same time, the smallest run key counts. Without a change, this is
        the first generation.
        """
        ends = self._ends.get(location, ())
        newest = last_before(ends, time_us + 1)
        return location._replace(generation=ends[bisect_left(ends, newest[:1])][1]) if newest else location

    def _start_times_us(self, dataset: Name) -> Iterator[int]:
        """Yield the times (us) at which a generation began.

        There are several times if the run in the generation's name dropped or replaced the dataset several times.
        """
        if not dataset.generation:
            yield -MAX_TIME_US
        for time_us in self._end_times_us(dataset.generation, dataset.without_generation):
            if self._generation_at(dataset.without_generation, time_us) == dataset:
                yield time_us

    def _end_times_us(self, run_key: str, location: Name) -> set[int]:
        return {each.time_us for each in self._changes_by_end.get((run_key, location), ())}

    def _is_ended_by(self, run_key: str, dataset: Name) -> bool:
        ended = self._end_times_us(run_key, dataset.without_generation)
        return any(self._generation_at(dataset.without_generation, time_us - 1) == dataset for time_us in ended)

    def _has_rename_to(self, location: Name, time_us: int) -> bool:
        found = first_at_or_after(self._renames_to.get(location, ()), time_us)
        return found is not None and found[0] == time_us

    def _previous_change_us(self, location: Name, time_us: int) -> int:
        """Return the time of the last end or rename at a location before `time_us`, or -MAX_TIME_US without one."""
        both = (
            last_before(self._ends.get(location, ()), time_us),
            last_before(self.renamed.get(location, ()), time_us),
        )
        return max((each[0] for each in both if each), default=-MAX_TIME_US)

    def _next_change_us(self, location: Name, time_us: int) -> int:
        """Return the time of the next end or rename at a location after `time_us`, or MAX_TIME_US without one."""
        both = (
            first_at_or_after(self._ends.get(location, ()), time_us + 1),
            first_at_or_after(self.renamed.get(location, ()), time_us + 1),
        )
        return min((each[0] for each in both if each), default=MAX_TIME_US)

    def _with_spans_before_renames(self, span: NameSpan) -> Iterator[NameSpan]:
        """Yield a span, and the earlier spans of locations that were renamed to its location during the span.

        Earlier renames to these locations are followed, too.
        """
        todo = [span]
        while todo:
            span = todo.pop()
            yield span
            onto = self._renames_to.get(span.name, [])
            for time_us, before in onto[bisect_left(onto, (span.since_us,)) : bisect_left(onto, (span.until_us,))]:
                todo.append(NameSpan(before, self._previous_change_us(before, time_us), time_us))

    def _generation_spans(self, dataset: Name) -> Iterator[NameSpan]:
        """Yield the spans in which the location of a generation refers to this generation.

        A span begins when the generation begins, or after the last rename away from the location. It lasts until the
        next generation begins.
        """
        location = dataset.without_generation
        for since_us in self._start_times_us(dataset):
            end = first_at_or_after(self._ends.get(location, ()), since_us + 1)
            until_us = end[0] if end else MAX_TIME_US
            away = last_before(self.renamed.get(location, ()), until_us + 1)
            span = NameSpan(location, max(since_us, away[0]) if away else since_us, until_us)
            if span.since_us < span.until_us:
                yield span

    def _writing_runs(self, span: NameSpan, upto_us: int) -> Iterator[str]:
        writes = self._writes.get(span.name, [])
        until = min(span.until_us, upto_us + 1)
        first = bisect_left(writes, (span.since_us,))
        for index in range(first, len(writes)):
            time_us, run_key = writes[index]
            if time_us >= until:
                return
            yield run_key


def first_at_or_after(locations: Sequence[tuple[int, T]], time_us: int) -> tuple[int, T] | None:
    """Return the first (time, value) pair at or after a time, None without one; `locations` is sorted by time."""
    index = bisect_left(locations, (time_us,))
    return locations[index] if index < len(locations) else None


def last_before(locations: Sequence[tuple[int, T]], time_us: int) -> tuple[int, T] | None:
    """Return the last (time, value) pair before a time, None without one; `locations` is sorted by time."""
    index = bisect_left(locations, (time_us,))
    return locations[index - 1] if index else None


def _remove_item(kept: dict[Name, list[tuple[int, T]]], name: Name, at_us: tuple[int, T]) -> None:
    kept[name].remove(at_us)
    if not kept[name]:
        del kept[name]


_MAX_SEARCHED = 8
"""The maximum number of changes and writes that a search examines.

The limit matters if a batch adds many drops before it adds the writes between them.
"""


class Generations(DatasetHistory):
    """Finds the generation to which a location refers at a time.

    You can add changes and writes in any order and repeatedly.
    """

    def generation_at(self, location: Name, time_us: int) -> Name:
        """Return the generation to which a location refers at a time (rule 10.3).

        If the next change is a rename, the dataset is followed to its new location. The search stops where a generation
        ends before the next rename, or where no rename follows.
        """
        while self.has_changes(location):
            away = first_at_or_after(self.renamed.get(location, ()), time_us + 1)
            end = first_at_or_after(self._ends.get(location, ()), time_us + 1)
            if away is None or (end is not None and end[0] < away[0]):
                return self._generation_at(location, time_us)
            time_us, location = away
        return location

    def input_generation(self, location: Name, since_us: int, time_us: int, run_key: str) -> Name:
        """Return the generation to which an input of a run refers (rule 10.5).

        This is the newest generation that lived between `since_us` and `time_us`. Generations that the run itself ends
        are used only if there is no other. If no generation lived, this is the result of `generation_at`, provided that
        another run wrote it. Otherwise, this is the newest generation that lived before `since_us`, or else the result
        of `generation_at`.
        """
        meaning = self.generation_at(location, time_us)
        if not self.has_changes(location):
            return meaning
        lived = [
            found
            for found in self._generations_back(location, since_us, time_us)
            if self.has_lived(found, time_us, except_run=run_key)
        ]
        others = (found for found in lived if not self._is_ended_by(run_key, found))
        found = next(others, next(iter(lived), None))
        if found is not None or self.is_written(meaning, except_run=run_key):
            return found or meaning
        before = self._generations_back(location, -MAX_TIME_US, time_us)
        return next((each for each in before if self.has_lived(each, time_us, except_run=run_key)), meaning)

    def mention_spans(self, dataset: Name) -> Iterator[NameSpan]:
        """Yield the spans in which a name refers to a generation.

        The names are the location of the generation and the locations that were renamed to it. If a location was
        renamed twice at the same time, both renames count.
        """
        if not dataset.generation and not self.has_changes(dataset):
            yield NameSpan(dataset)
            return
        for span in self._generation_spans(dataset):
            yield from self._with_spans_before_renames(span)

    def newest_generation(self, location: Name) -> Name:
        """Return the newest generation at a location, even if no run has written it yet."""
        return self._generation_at(location.without_generation, MAX_TIME_US)

    def newest_lived_generation(self, location: Name) -> Name:
        """Return the newest generation at a location that lived (rule 10.6)."""
        plain = location.without_generation
        every = (plain._replace(generation=run_key) for _, run_key in reversed(self._ends.get(plain, [])))
        return next((each for each in every if self.has_lived(each)), plain)

    def all_generations(self, location: Name) -> Iterator[Name]:
        """Yield all generations to which a location has referred, the newest first. A generation may occur twice."""
        return self._generations_back(location, -MAX_TIME_US, MAX_TIME_US)

    def generations_in(self, span: NameSpan) -> set[Name]:
        """Return the generations to which a location refers in a span, and the generation that it had at the start."""
        if not self.has_changes(span.name):
            return {span.name}
        found = self._generations_back(span.name, span.since_us, span.until_us - 1)
        return {*found, self._generation_at(span.name, span.since_us)}

    def has_lived(self, dataset: Name, upto_us: int = MAX_TIME_US, *, except_run: str | None = None) -> bool:
        """Return whether a generation lived at or before a time: a run wrote it or renamed a dataset to it (rule 10.6).

        The first generation always lived.
        except_run: the key of a run whose writes are ignored.
        """
        if not dataset.generation:
            return True
        start_times_us = (at for at in self._start_times_us(dataset) if at <= upto_us)
        renamed = any(self._has_rename_to(dataset.without_generation, time_us) for time_us in start_times_us)
        return renamed or self.is_written(dataset, upto_us, except_run=except_run)

    def is_written(self, dataset: Name, upto_us: int = MAX_TIME_US, *, except_run: str | None = None) -> bool:
        """Return whether a run other than `except_run` wrote a generation at or before a time."""
        return any(
            run_key != except_run
            for span in self.mention_spans(dataset)
            for run_key in self._writing_runs(span, upto_us)
        )

    def exists(self, dataset: Name) -> bool:
        """Return whether a generation exists now: it lived, and it is the newest generation at its location."""
        return dataset == self.newest_generation(dataset) and self.has_lived(dataset)

    def exists_at(self, location: Name) -> bool:
        """Return whether a dataset exists at a location now: it was not dropped, or it was created again."""
        return self.has_lived(self.newest_generation(location))

    def set_changes(self, run_key: str, after: frozenset[DatasetChange]) -> list[NameSpan]:
        """Replace the drops and renames of a run.

        Returns the locations and time spans that may now refer to other generations.
        """
        before = self.changes_of_run(run_key)
        moved = [span for change in before - after for span in self._affected_spans(change)]
        for change in before - after:
            self._remove_change(run_key, change)
        for change in after - before:
            self._add_change(run_key, change)
        _set_or_delete(self._changes_by_run, run_key, after)
        return moved + [span for change in after - before for span in self._affected_spans(change)]

    def set_writes(self, run_key: str, after: frozenset[tuple[int, Name]]) -> list[NameSpan]:
        """Replace the writes of a run, given as (time in microseconds, location) pairs.

        Writes to locations without a drop or rename are ignored. Returns the locations and time spans that may now
        refer to other generations.
        """
        after = frozenset((time_us, location) for time_us, location in after if self.has_changes(location))
        before = self.writes_of_run(run_key)
        for time_us, location in before - after:
            self._writes[location].remove((time_us, run_key))
        for time_us, location in after - before:
            insort(self._writes.setdefault(location, []), (time_us, run_key))
        _set_or_delete(self._writes_by_run, run_key, after)
        changed_proofs = (
            (location, at_us) for at_us, location in before ^ after if self._may_prove_generation(location, at_us)
        )
        proved = {self.generation_at(location, at_us) for location, at_us in changed_proofs}
        return [self._until_next_lives(span) for dataset in proved for span in self.mention_spans(dataset)]

    def _generations_back(self, location: Name, since_us: int, time_us: int) -> Iterator[Name]:
        """Yield the generation of a location at `time_us`, then before each earlier change back to `since_us`."""
        yield self.generation_at(location, time_us)
        at_us = self._previous_change_us(location, time_us + 1)
        while at_us >= since_us and at_us > -MAX_TIME_US:
            yield self.generation_at(location, at_us - 1)
            at_us = self._previous_change_us(location, at_us)

    def _affected_spans(self, change: DatasetChange) -> Iterator[NameSpan]:
        """Yield the locations and time spans for which the generation depends on a change."""
        for location in {change.location, change.ended_location}:
            yield from self._affected_spans_since(location, change.time_us)

    def _affected_spans_since(self, location: Name, time_us: int) -> Iterator[NameSpan]:
        """Yield the spans that a change at `time_us` affects: from the previous change to the next end at the location.

        The result includes spans of locations that were renamed to this location.
        """
        end = first_at_or_after(self._ends.get(location, ()), time_us + 1)
        for span in self._with_spans_before_renames(
            NameSpan(location, self._previous_change_us(location, time_us), end[0] if end else MAX_TIME_US)
        ):
            yield self._until_next_lives(span)

    def _until_next_lives(self, span: NameSpan) -> NameSpan:
        """Extend a span up to the time when the next generation lives.

        Until this time, an input refers to the earlier generation.
        """
        return span._replace(until_us=self._first_lived_us(span.name, span.until_us))

    def _first_lived_us(self, location: Name, time_us: int) -> int:
        """Return the first time at or after `time_us` at which a location refers to a generation that has lived.

        Returns MAX_TIME_US if there is no such time among the next `_MAX_SEARCHED` changes and writes.
        """
        for _ in range(_MAX_SEARCHED):
            if time_us == MAX_TIME_US or self.has_lived(self.generation_at(location, time_us), time_us):
                return time_us
            write = first_at_or_after(self._writes.get(location, ()), time_us + 1)
            time_us = min(self._next_change_us(location, time_us), write[0] if write else MAX_TIME_US)
        return MAX_TIME_US

    def _may_prove_generation(self, location: Name, time_us: int) -> bool:
        """Return whether a write may prove that a generation lived.

        This is the case if at most one run wrote the location between its previous change and the write.
        """
        earlier = NameSpan(location, self._previous_change_us(location, time_us + 1), time_us)
        writers = self._writing_runs(earlier, time_us)
        first = next(writers, None)
        return all(run_key == first for run_key in writers)


def _set_or_delete(by_run: dict[str, frozenset[T]], run_key: str, found: frozenset[T]) -> None:
    if found:
        by_run[run_key] = found
    else:
        by_run.pop(run_key, None)
