"""Rule 2.4: names that were bound to several locations, and the moves between these locations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby, pairwise
from typing import NamedTuple

from headwater.lineage.names.dataset_generations import Generations
from headwater.lineage.names.dataset_name import Name

LocationAt = tuple[int, Name]


class FormerLocation(NamedTuple):
    """The last name that left a former location, and the time at which it left."""

    name: Name
    since_us: int


class MovedNames:
    """The moves of names between locations, from the bindings that `Naming` stores."""

    def __init__(self, bindings: Mapping[Name, Sequence[LocationAt]], names: Mapping[Name, Set[Name]], of: Generations):
        """Share the data of `Naming`.

        bindings: the bindings of each name, sorted by time; names: the names that were bound or renamed to each
        location; of: the generations of locations.
        """
        self._bindings = bindings
        self._names = names
        self._generations = of
        self._locations: dict[Name, set[Name]] = {}
        self._moved: dict[Name, set[Name]] = {}
        self._stays: dict[Name, list[LocationAt]] = {}

    def bound(self, name: Name, location: Name) -> None:
        """Take a new binding of a name into account. `bindings` already contains it."""
        bindings = self._bindings[name]
        if name not in self._locations and bindings[0][1] == location == bindings[-1][1]:
            return  # most names never move
        self._stays.pop(name, None)
        known = self._locations.setdefault(name, {bindings[0][1], bindings[-1][1]})
        known.add(location)
        for each in known if len(known) == 2 else (location,):
            self._moved.setdefault(each, set()).add(name)

    @property
    def any(self) -> bool:
        """Whether any name was bound to more than one location."""
        return bool(self._moved)

    def is_left(self, location: Name) -> bool:
        """Return whether a name that was bound to a location was also bound to another location."""
        return location in self._moved

    def others_now(self, location: Name) -> list[Name]:
        """Return the other locations of the names that mean a location now, the newest first."""
        names = (name for name in self._moved.get(location, ()) if self._stays_of(name)[-1][1] == location)
        return self._others(location, names)

    def others(self, location: Name) -> list[Name]:
        """Return the other locations of all names that have ever meant a location, the newest first."""
        names = self._moved.get(location, ())
        return self._others(location, (name for name in names if self._meant(name, location)))

    def former(self, location: Name) -> FormerLocation | None:
        """Return the name that left a location last, and when; None if a name means it now, or if no name left it."""
        moved, left = self._moved.get(location, set()), []
        for name in moved:
            stays = self._stays_of(name)
            if stays[-1][1] == location:
                return None
            places = [place for place, (_, each) in enumerate(stays) if each == location]
            left += [FormerLocation(name, stays[places[-1] + 1][0])] if places else []
        if any(name in self._bindings and name not in moved for name in self._names.get(location, ())):
            return None
        return max(left, key=lambda each: (each.since_us, each.name), default=None)

    def former_locations(self) -> Iterable[Name]:
        """Return the former locations of all names."""
        return [location for location in self._moved if self.former(location)]

    def moved_on(self, dataset: Name, *, forward: bool) -> Iterator[Name]:
        """Yield the generations that a name meant after a generation, or before it if not `forward` (rule 10.11)."""
        for span in self._generations.uses(dataset) if self._moved else ():
            for name in sorted(self._moved.get(span.name, ())):
                stays = self._stays_of(name)
                for place, (begin_us, location) in enumerate(stays):
                    if location != span.name:
                        continue
                    if forward and place + 1 < len(stays) and span.since_us <= stays[place + 1][0] < span.until_us:
                        yield from self._after(stays[place + 1 :])
                    if not forward and any(span.since_us <= at < span.until_us for at in (begin_us - 1, begin_us)):
                        yield from self._before(stays[: place + 1])

    def _after(self, stays: Sequence[LocationAt]) -> Iterator[Name]:
        """Yield the generations of locations when a name moved to them, and just before.

        The run that moves the name may also drop a dataset.
        """
        for time_us, location in stays:
            yield from (self._generations.meaning(location, at) for at in (time_us - 1, time_us))

    def _before(self, stays: Sequence[LocationAt]) -> Iterator[Name]:
        """Yield the generations of all locations except the last one, at the time when the name left them."""
        for (_, location), (left_us, _) in pairwise(stays):
            yield self._generations.meaning(location, left_us)

    def _meant(self, name: Name, location: Name) -> bool:
        """Return whether a name has meant a location, and no smaller location won at the same instant (rule 2.3)."""
        return any(each == location for _, each in self._stays_of(name))

    def _others(self, location: Name, names: Iterable[Name]) -> list[Name]:
        newest: dict[Name, int] = {}
        for name in names:
            newest |= {each: max(at, newest.get(each, at)) for at, each in self._stays_of(name) if each != location}
        return sorted(newest, key=lambda each: (-newest[each], each))

    def _stays_of(self, name: Name) -> list[LocationAt]:
        """Return (time, location) of each move of a name, the oldest first; the smaller location wins a tie."""
        found = self._stays.get(name)
        if found is None:
            found = []
            for _, same in groupby(self._bindings[name], key=lambda at_us: at_us[0]):
                time_us, location = next(same)
                if not found or found[-1][1] != location:
                    found.append((time_us, location))
            self._stays[name] = found
        return found
