"""Rules 2.3, 2.4 and 10: find the dataset to which a name refers at a time, from symlinks, renames and drops.

A symlink binds a name to a location. A name moves when a later symlink binds it to another location.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import DatasetChange, Generations, NameSpan
from headwater.lineage.runs.run_facts import DatasetUse, RunFacts

TimedLocation = tuple[int, Name]
"""(time in microseconds, location)."""


class FormerLocation(NamedTuple):
    """The last name that moved away from a location, and the time (us) at which it moved."""

    name: Name
    since_us: int


class MovedNames:
    """The moves of names between locations, derived from the bindings that `NameResolver` stores."""

    def __init__(
        self,
        bindings: Mapping[Name, Sequence[TimedLocation]],
        names: Mapping[Name, Set[Name]],
        generations: Generations,
    ):
        """Store references to the data of `NameResolver`, which keeps changing the data.

        bindings: maps each name to the (time, location) pairs of its bindings, sorted.
        names: maps each location to the names that were bound or renamed to this location.
        generations: the generations of all locations.
        """
        self._bindings = bindings
        self._names = names
        self._generations = generations
        self._locations: dict[Name, set[Name]] = {}
        self._names_by_location: dict[Name, set[Name]] = {}
        self._moves: dict[Name, list[TimedLocation]] = {}

    def add_binding(self, name: Name, location: Name) -> None:
        """Update the moves of a name after a binding to `location` was added to `bindings`."""
        bindings = self._bindings[name]
        if name not in self._locations and bindings[0][1] == location == bindings[-1][1]:
            return  # most names never move
        self._moves.pop(name, None)
        known = self._locations.setdefault(name, {bindings[0][1], bindings[-1][1]})
        known.add(location)
        for each in known if len(known) == 2 else (location,):
            self._names_by_location.setdefault(each, set()).add(name)

    @property
    def has_moves(self) -> bool:
        """Whether any name was bound to more than one location."""
        return bool(self._names_by_location)

    def has_moved_names(self, location: Name) -> bool:
        """Return whether a name that was bound to a location was also bound to another location."""
        return location in self._names_by_location

    def other_current_locations(self, location: Name) -> list[Name]:
        """Find the names that refer to a location now, and return their former locations, the newest first."""
        names = (name for name in self._names_by_location.get(location, ()) if self._moves_of(name)[-1][1] == location)
        return self._locations_newest_first(location, names)

    def other_locations(self, location: Name) -> list[Name]:
        """Find all names that have ever referred to a location, and return their other locations, the newest first."""
        names = self._names_by_location.get(location, ())
        return self._locations_newest_first(location, (name for name in names if self._has_meant(name, location)))

    def names(self) -> Iterable[Name]:
        """Return the names that were bound to several locations."""
        return self._locations

    def locations(self, name: Name) -> Iterable[Name]:
        """Return all locations to which a name was bound if there are several; empty for every other name."""
        return self._locations.get(name, ())

    def former_location(self, location: Name) -> FormerLocation | None:
        """Return the name that last moved away from a location, and the time of the move.

        Returns None if a name refers to the location now, or if no name moved away from it.
        """
        moved, left = self._names_by_location.get(location, set()), []
        for name in moved:
            moves = self._moves_of(name)
            if moves[-1][1] == location:
                return None
            places = [place for place, (_, each) in enumerate(moves) if each == location]
            left += [FormerLocation(name, moves[places[-1] + 1][0])] if places else []
        if any(name in self._bindings and name not in moved for name in self._names.get(location, ())):
            return None
        return max(left, key=lambda each: (each.since_us, each.name), default=None)

    def former_locations(self) -> Iterable[Name]:
        """Return the locations from which names moved away and to which no name refers now."""
        return [location for location in self._names_by_location if self.former_location(location)]

    def moved_generations(self, dataset: Name, *, forward: bool) -> Iterator[Name]:
        """Yield the generations at other locations to which the names of a generation moved (rule 10.11).

        forward: True to yield the generations after the moves, False to yield the generations before them.
        """
        for span in self._generations.mention_spans(dataset) if self._names_by_location else ():
            for name in sorted(self._names_by_location.get(span.name, ())):
                moves = self._moves_of(name)
                for place, (begin_us, location) in enumerate(moves):
                    if location != span.name:
                        continue
                    if forward and place + 1 < len(moves) and span.since_us <= moves[place + 1][0] < span.until_us:
                        yield from self._generations_at_moves(moves[place + 1 :])
                    if not forward and any(span.since_us <= at < span.until_us for at in (begin_us - 1, begin_us)):
                        yield from self._generations_before_moves(moves[: place + 1])

    def _generations_at_moves(self, moves: Sequence[TimedLocation]) -> Iterator[Name]:
        """Yield, for each (time, location), the generation of the location at that time and one microsecond before.

        The two generations differ if the run that moves the name also drops a dataset.
        """
        for time_us, location in moves:
            yield from (self._generations.generation_at(location, at) for at in (time_us - 1, time_us))

    def _generations_before_moves(self, moves: Sequence[TimedLocation]) -> Iterator[Name]:
        """Yield, for each location except the last one, its generation at the time when the name moved away."""
        for (_, location), (left_us, _) in pairwise(moves):
            yield self._generations.generation_at(location, left_us)

    def _has_meant(self, name: Name, location: Name) -> bool:
        """Return whether a name has ever referred to a location (rule 2.3).

        Of several bindings at the same time, only the one with the smallest location counts.
        """
        return any(each == location for _, each in self._moves_of(name))

    def _locations_newest_first(self, location: Name, names: Iterable[Name]) -> list[Name]:
        newest: dict[Name, int] = {}
        for name in names:
            newest |= {each: max(at, newest.get(each, at)) for at, each in self._moves_of(name) if each != location}
        return sorted(newest, key=lambda each: (-newest[each], each))

    def _moves_of(self, name: Name) -> list[TimedLocation]:
        """Return (time, location) of each move of a name, the oldest first.

        Of several bindings at the same time, only the one with the smallest location counts.
        """
        found = self._moves.get(name)
        if found is None:
            found = []
            for _, same in groupby(self._bindings[name], key=lambda at_us: at_us[0]):
                time_us, location = next(same)
                if not found or found[-1][1] != location:
                    found.append((time_us, location))
            self._moves[name] = found
        return found


class MentionSource(NamedTuple):
    """The run or declaration that mentions a name.

    key: the key of the run. is_declaration: whether the source is a declaration. started_us: the time of its first
    event.
    event_forms: maps canonical names to the names that replace them in the events of this source (rule 2.1).
    """

    key: str
    is_declaration: bool
    started_us: int
    event_forms: Mapping[Name, Name] = MappingProxyType({})


class NameResolver:
    """Finds the dataset to which a canonical name refers at a time.

    You can add symlinks, changes and writes in any order and repeatedly.
    bindings: maps each name to the (time, location) pairs of its bindings, sorted.
    """

    def __init__(self) -> None:
        self.bindings: dict[Name, list[TimedLocation]] = {}
        self.generations = Generations()
        self._names_by_location: dict[Name, set[Name]] = {}
        self.moved_names = MovedNames(self.bindings, self._names_by_location, self.generations)

    def resolve(self, name: Name, time_us: int) -> Name:
        """Return the dataset, with its generation, to which a name refers at a time."""
        return self.generations.generation_at(self.location_at(name, time_us), time_us)

    def resolve_input(self, source: MentionSource, name: Name, time_us: int) -> Name:
        """Return the dataset to which an input of a run or declaration refers (rule 10.5).

        name: the canonical name of the input, or of a source dataset in the reported lineage.
        """
        name = source.event_forms.get(name, name)
        if source.is_declaration:
            return self._resolve_declared(name, time_us)
        return self.generations.input_generation(
            self.location_at(name, time_us), source.started_us, time_us, source.key
        )

    def resolve_output(self, source: MentionSource, name: Name, time_us: int, lifecycle: str | None = None) -> Name:
        """Return the dataset to which an output of a run or declaration refers (rules 10.3, 10.4).

        name: the canonical name of the output, or of a target dataset in the reported lineage.
        lifecycle: the `lifecycleStateChange` that the run reports for the output, None without one.
        """
        name = source.event_forms.get(name, name)
        if source.is_declaration:
            return self._resolve_declared(name, time_us)
        location = self.location_at(name, time_us)
        changes = lifecycle in ("DROP", "RENAME")
        at_us = self.generations.last_change_us(source.key, location, lifecycle or "") if changes else None
        if at_us is None:
            return self.generations.generation_at(location, time_us)
        return self.generations.generation_at(location, at_us - 1 if lifecycle == "DROP" else at_us)

    def location_at(self, name: Name, time_us: int) -> Name:
        """Return the location of a name at a time (rule 2.3).

        This is the location of the newest binding up to that time, or else of the earliest later binding. A name
        without bindings is its own location.
        """
        locations = self.bindings.get(name)
        if not locations:
            return name
        index = bisect_right(locations, time_us, key=lambda at_us: at_us[0])
        if index == 0:
            return locations[0][1]
        newest_us = locations[index - 1][0]
        return locations[bisect_left(locations, newest_us, key=lambda at_us: at_us[0])][1]  # smallest location

    def set_changes(self, run_key: str, sent: Iterable[DatasetChange]) -> list[NameSpan]:
        """Replace the drops and renames of a run; return the names and time spans that may now refer to other datasets.

        sent: the changes with names before symlinks are followed, the oldest first.
        """
        newest: dict[tuple[Name, Name | None], DatasetChange] = {}
        for time_us, old, new in sent:
            change = DatasetChange(time_us, self.location_at(old, time_us), new and self.location_at(new, time_us))
            newest[change[1:]] = change
        self.add_renames(newest.values())
        moved = self.generations.set_changes(run_key, frozenset(newest.values()))
        return list(self._with_aliases(moved))

    def add_renames(self, changes: Iterable[DatasetChange]) -> None:
        """Record which locations were renamed to which. `generations` does not change."""
        for change in changes:
            if change.new_location:
                self._names_by_location.setdefault(change.new_location, set()).add(change.location)

    def set_writes(self, run_key: str, sent: Iterable[tuple[int, Name]]) -> list[NameSpan]:
        """Replace the writes of a run; return the names and time spans that may now refer to other datasets.

        sent: (time in microseconds, name) of each write.
        """
        found = frozenset((time_us, self.location_at(name, time_us)) for time_us, name in sent)
        return list(self._with_aliases(self.generations.set_writes(run_key, found)))

    def may_change(self, name: Name) -> bool:
        """Return whether a name may refer to different datasets at different times, or to one with another name."""
        return name in self.bindings or self.generations.has_changes(name)

    def is_constant(self, name: Name) -> bool:
        """Return whether a name refers to the same dataset at all times and in all runs.

        The dataset may have a different name, because a symlink counts as constant.
        """
        locations = {location for _, location in self.bindings.get(name, ())} or {name}
        return len(locations) == 1 and not self.generations.has_changes(*locations)

    def datasets_in(self, span: NameSpan) -> set[Name]:
        """Return every dataset to which a name may refer in a time span."""
        locations = {span.name, *(location for _, location in self.bindings.get(span.name, ()))}
        return {found for each in locations for found in self.generations.generations_in(span._replace(name=each))}

    def generations_of_location(self, location: Name) -> Iterator[Name]:
        """Yield the generations of a location, then the generations of former locations of its names (rule 10.10)."""
        yield from self.generations.all_generations(location)
        for other in self.moved_names.other_current_locations(location):
            yield from self.generations.all_generations(other)

    def mention_spans(self, dataset: Name) -> Iterator[NameSpan]:
        """Yield the names and time spans that may refer to a generation.

        A symlink may bind the name to another location during a part of such a span.
        """
        return self._with_aliases(self.generations.mention_spans(dataset))

    def names_of(self, dataset: Name) -> set[Name]:
        """Return every name that may refer to a dataset at some time, including its own name."""
        return self.names_of_any((dataset,))

    def names_of_any(self, datasets: Iterable[Name]) -> set[Name]:
        """Return every name that may refer to one of the datasets at some time. The time is linear in the result."""
        found = {dataset.without_generation for dataset in datasets}
        todo = list(found)
        while todo:
            more = self._names_by_location.get(todo.pop(), set()) - found
            found |= more
            todo.extend(more)
        return found

    def names_at_all_locations(self, names: Iterable[Name]) -> set[Name]:
        """Return every name that may refer to some datasets, or to another location of one of these names.

        This includes the other locations, their other names, and the locations of these. names: names of the datasets.
        """
        found = self.names_of_any(names)
        todo = list(found) if self.moved_names.has_moves else []
        while todo:
            more = self.names_of_any(self.moved_names.locations(todo.pop())) - found
            found |= more
            todo.extend(more)
        return found

    def names_of_parts(self, is_part_name: Callable[[Name], bool]) -> set[Name]:
        """Return the names with several locations if events mention parts of a dataset at one of these locations.

        A name counts as well if a chain of such names and their locations connects it with such a location.
        is_part_name: returns whether an event mentions a part of the dataset with a name, as sent.
        """
        found, seen = set[Name](), set[Name]()
        moved = set(self.moved_names.names())
        for start in moved:
            connected, todo, has_parts = set[Name](), {start} - seen, False
            while todo:
                name = todo.pop()
                connected.add(name)
                names = self.names_of_any(self.moved_names.locations(name))
                has_parts = has_parts or any(map(is_part_name, names))
                todo |= (names & moved) - connected
            seen |= connected
            found |= connected if has_parts else set()
        return found

    def locations_of_same_names(self, names: Iterable[Name]) -> set[Name]:
        """Return the locations to which names of some datasets were bound, for names with several locations.

        names: names of the datasets.
        """
        every = self.names_at_all_locations(names) if self.moved_names.has_moves else ()
        return {location for name in every for location in self.moved_names.locations(name)}

    def representatives(self) -> dict[Name, Name]:
        """Map each name that takes part in a symlink or rename to the smallest name in its group of related names.

        Names are related if a chain of symlinks and renames connects them.
        """
        found: dict[Name, Name] = {}
        related: dict[Name, set[Name]] = {}
        for location, names in self._names_by_location.items():
            for name in names:
                related.setdefault(location, set()).add(name)
                related.setdefault(name, set()).add(location)
        for first in sorted(related):
            todo = [] if first in found else [first]
            while todo:
                name = todo.pop()
                if name not in found:
                    found[name] = first
                    todo.extend(related[name])
        return found

    def aliases(self) -> set[Name]:
        """Return the names that a symlink binds to a location or that were renamed."""
        return {*self.bindings, *self.generations.renamed}

    def add_bindings(self, links: Iterable[tuple[Name, TimedLocation]]) -> set[Name]:
        """Add bindings; return the aliases that change their location at the time of a binding.

        links: (alias, (time in microseconds, location)) of each binding.
        """
        return {alias for alias, at_us in links if self._add_binding(alias, at_us)}

    def _add_binding(self, alias: Name, at_us: TimedLocation) -> bool:
        """Add a binding; return whether the location of the alias at that time changes.

        A binding that repeats the previous one is stored, too, because a binding between the two may arrive later.
        """
        time_us, location = at_us
        known = self.location_at(alias, time_us) == location if alias in self.bindings else False
        locations = self.bindings.setdefault(alias, [])
        self._names_by_location.setdefault(location, set()).add(alias)
        index = bisect_left(locations, at_us)
        if index == len(locations) or locations[index] != at_us:
            locations.insert(index, at_us)
            self.moved_names.add_binding(alias, location)
        return not known

    def _resolve_declared(self, name: Name, time_us: int) -> Name:
        return self.generations.newest_lived_generation(self.resolve(name, time_us))

    def _with_aliases(self, moved: Iterable[NameSpan]) -> Iterator[NameSpan]:
        for span in moved:
            yield span
            aliases = (alias for alias in self._names_by_location.get(span.name, ()) if alias in self.bindings)
            yield from (NameSpan(alias, span.since_us, span.until_us) for alias in aliases)


def symlink_bindings(use: DatasetUse) -> Iterable[tuple[Name, Name]]:
    """Yield (name, location) for each symlink of a dataset (rule 2.3).

    A symlink of type LOCATION is the location of the dataset. Any other symlink is another name of the dataset.
    """
    for link in use.symlinks:
        yield (use.name, link.name) if link.is_location else (link.name, use.name)


def event_bindings(fact: RunFacts) -> Iterator[tuple[Name, TimedLocation]]:
    """Yield (name, (time in microseconds, location)) for each symlink of an event."""
    for use in (*fact.inputs, *fact.outputs):
        for alias, location in symlink_bindings(use):
            yield alias, (fact.time_us, location)
