"""Rules 2.3 and 10: resolve a name at a time to a dataset and its generation, by symlinks, renames and drops."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from headwater.lineage.names.dataset_generations import Generations
from headwater.lineage.names.dataset_history import Change, Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.moved_names import LocationAt, MovedNames
from headwater.lineage.runs.run_facts import DatasetUse, RunFacts


class Speaker(NamedTuple):
    """The source of a mention: a run or a declaration.

    key: the run key; declares: it is a declaration; started_us: the time of its first event.
    forms: canonical names that mean other datasets in its events (rule 2.1).
    """

    key: str
    declares: bool
    started_us: int
    forms: Mapping[Name, Name] = MappingProxyType({})


class Naming:
    """Resolves canonical names. You can add symlinks, changes and writes in any order and repeatedly."""

    def __init__(self) -> None:
        self.bindings: dict[Name, list[LocationAt]] = {}
        self.generations = Generations()
        self._names: dict[Name, set[Name]] = {}
        self.moved = MovedNames(self.bindings, self._names, self.generations)

    def resolve(self, name: Name, time_us: int) -> Name:
        """Return the dataset, with its generation, that a mention of a name at a time means."""
        return self.generations.meaning(self.bound(name, time_us), time_us)

    def input(self, who: Speaker, name: Name, time_us: int) -> Name:
        """Return the dataset that a run means by an input or by a source in lineage (rule 10.5)."""
        name = who.forms.get(name, name)
        if who.declares:
            return self._declared(name, time_us)
        return self.generations.read(self.bound(name, time_us), who.started_us, time_us, who.key)

    def output(self, who: Speaker, name: Name, time_us: int, lifecycle: str | None = None) -> Name:
        """Return the dataset that a run means by an output or by a target in lineage (rules 10.3, 10.4).

        lifecycle: the `lifecycleStateChange` that the run reports for the output.
        """
        name = who.forms.get(name, name)
        if who.declares:
            return self._declared(name, time_us)
        location = self.bound(name, time_us)
        changes = lifecycle in ("DROP", "RENAME")
        at_us = self.generations.changed_by(who.key, location, lifecycle or "") if changes else None
        if at_us is None:
            return self.generations.meaning(location, time_us)
        return self.generations.meaning(location, at_us - 1 if lifecycle == "DROP" else at_us)

    def bound(self, name: Name, time_us: int) -> Name:
        """Return the location of a name: its newest binding up to a time, else its earliest later one (rule 2.3)."""
        locations = self.bindings.get(name)
        if not locations:
            return name
        index = bisect_right(locations, time_us, key=lambda at_us: at_us[0])
        if index == 0:
            return locations[0][1]
        newest_us = locations[index - 1][0]
        return locations[bisect_left(locations, newest_us, key=lambda at_us: at_us[0])][1]  # the smallest wins

    def set_changes(self, run_key: str, sent: Iterable[Change]) -> list[Span]:
        """Replace the drops and renames of a run; return the names and times whose meaning changes.

        sent: the changes with names as sent, the oldest first.
        """
        newest: dict[tuple[Name, Name | None], Change] = {}
        for time_us, old, new in sent:
            change = Change(time_us, self.bound(old, time_us), new and self.bound(new, time_us))
            newest[change[1:]] = change
        self.renamed(newest.values())
        moved = self.generations.set_changes(run_key, frozenset(newest.values()))
        return list(self._with_aliases(moved))

    def renamed(self, changes: Iterable[Change]) -> None:
        """Record which names were renamed to which."""
        for change in changes:
            if change.to:
                self._names.setdefault(change.to, set()).add(change.location)

    def set_writes(self, run_key: str, sent: Iterable[tuple[int, Name]]) -> list[Span]:
        """Replace the writes of a run, as (time, name); return the same as `set_changes`."""
        found = frozenset((time_us, self.bound(name, time_us)) for time_us, name in sent)
        return list(self._with_aliases(self.generations.set_writes(run_key, found)))

    def moves(self, name: Name) -> bool:
        """Return whether a name may mean different datasets at different times, or a dataset with a different name."""
        return name in self.bindings or self.generations.touches(name)

    def is_constant(self, name: Name) -> bool:
        """Return whether a name means the same dataset at all times and for all runs, even under a different name."""
        locations = {location for _, location in self.bindings.get(name, ())} or {name}
        return len(locations) == 1 and not self.generations.touches(*locations)

    def datasets_in(self, span: Span) -> set[Name]:
        """Return every dataset that a name may mean in a time span."""
        locations = {span.name, *(location for _, location in self.bindings.get(span.name, ()))}
        return {found for each in locations for found in self.generations.meanings_in(span._replace(name=each))}

    def meanings(self, location: Name) -> Iterator[Name]:
        """Yield the generations of a location, then those of the other locations of its names (rule 10.10)."""
        yield from self.generations.meanings(location)
        for other in self.moved.others_now(location):
            yield from self.generations.meanings(other)

    def uses(self, dataset: Name) -> Iterator[Span]:
        """Yield the names and times that may mean a generation. At some of these times, a symlink may override it."""
        return self._with_aliases(self.generations.uses(dataset))

    def names_of(self, dataset: Name) -> set[Name]:
        """Return every name that may mean a dataset at some time, including its own name."""
        return self.names_of_any((dataset,))

    def names_of_any(self, datasets: Iterable[Name]) -> set[Name]:
        """Return every name that may mean one of the datasets at some time, in time linear in the result."""
        found = {dataset.plain for dataset in datasets}
        todo = list(found)
        while todo:
            more = self._names.get(todo.pop(), set()) - found
            found |= more
            todo.extend(more)
        return found

    def representatives(self) -> dict[Name, Name]:
        """Map each name that a symlink or rename relates to others to the smallest of these names."""
        found: dict[Name, Name] = {}
        related: dict[Name, set[Name]] = {}
        for location, names in self._names.items():
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
        """Return the names that have a binding or were renamed."""
        return {*self.bindings, *self.generations.renamed}

    def bind(self, links: Iterable[tuple[Name, LocationAt]]) -> set[Name]:
        """Add bindings; return the aliases whose meaning changes."""
        return {alias for alias, at_us in links if self._bind(alias, at_us)}

    def _bind(self, alias: Name, at_us: LocationAt) -> bool:
        """Add a binding; return whether the meaning of the alias changes.

        A binding that repeats the previous one is stored, too, because another one between the two may arrive later.
        """
        time_us, location = at_us
        known = self.bound(alias, time_us) == location if alias in self.bindings else False
        locations = self.bindings.setdefault(alias, [])
        self._names.setdefault(location, set()).add(alias)
        index = bisect_left(locations, at_us)
        if index == len(locations) or locations[index] != at_us:
            locations.insert(index, at_us)
            self.moved.bound(alias, location)
        return not known

    def _declared(self, name: Name, time_us: int) -> Name:
        return self.generations.newest_lived(self.resolve(name, time_us))

    def _with_aliases(self, moved: Iterable[Span]) -> Iterator[Span]:
        for span in moved:
            yield span
            aliases = (alias for alias in self._names.get(span.name, ()) if alias in self.bindings)
            yield from (Span(alias, span.since_us, span.until_us) for alias in aliases)


def bindings_of(use: DatasetUse) -> Iterable[tuple[Name, Name]]:
    """Yield (name, location) for each symlink of a dataset; a symlink of type LOCATION is the location (rule 2.3)."""
    for link in use.symlinks:
        yield (use.name, link.name) if link.location else (link.name, use.name)


def links_of(fact: RunFacts) -> Iterator[tuple[Name, LocationAt]]:
    """Yield (name, (time, location)) for each symlink of an event."""
    for use in (*fact.inputs, *fact.outputs):
        for alias, location in bindings_of(use):
            yield alias, (fact.time_us, location)
