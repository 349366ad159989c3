"""Rule 2.4: names that have been bound to more than one location, and which locations they moved between."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby, pairwise
from typing import NamedTuple

from headwater.lineage.names.dataset_generations import Generations
from headwater.lineage.names.dataset_name import Name

LocationAt = tuple[int, Name]


class FormerLocation(NamedTuple):
    """A location that no name means any more: the last name that left it, and when."""

    name: Name
    since_us: int


class MovedNames:
    """The moves of names between locations; reads the bindings that `Naming` keeps."""

    def __init__(self, bindings: Mapping[Name, Sequence[LocationAt]], names: Mapping[Name, Set[Name]], of: Generations):
        """Know no name yet.

        bindings: by name its locations, sorted by time; names: by location the names that lead there; of: what they
        mean there.
        """
        self._bindings = bindings
        self._names = names
        self._generations = of
        self._locations: dict[Name, set[Name]] = {}
        self._moved: dict[Name, set[Name]] = {}
        self._stays: dict[Name, list[LocationAt]] = {}

    def bound(self, name: Name, location: Name) -> None:
        """Take note of another binding of a name."""
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
        """Tell whether any name has meant more than one location."""
        return bool(self._moved)

    def is_left(self, location: Name) -> bool:
        """Tell whether a name that has meant a location has meant another one, too."""
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
        """Return since when a location is a former one, None while a name means it or if none has ever left it."""
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
        """Return the locations that no name means any more."""
        return [location for location in self._moved if self.former(location)]

    def moved_on(self, dataset: Name, *, forward: bool) -> Iterator[Name]:
        """Yield the generations to which a name moved on from this one, or (backward) from which it came here."""
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
        """Yield the generations of locations when a name came to them, and just before: the same run may drop one."""
        for time_us, location in stays:
            yield from (self._generations.meaning(location, at) for at in (time_us - 1, time_us))

    def _before(self, stays: Sequence[LocationAt]) -> Iterator[Name]:
        """Yield the generations of all locations but the last at the time when a name left them."""
        for (_, location), (left_us, _) in pairwise(stays):
            yield self._generations.meaning(location, left_us)

    def _meant(self, name: Name, location: Name) -> bool:
        """Tell whether a name has meant a location, which it has not if a smaller one won at each instant."""
        return any(each == location for _, each in self._stays_of(name))

    def _others(self, location: Name, names: Iterable[Name]) -> list[Name]:
        newest: dict[Name, int] = {}
        for name in names:
            newest |= {each: max(at, newest.get(each, at)) for at, each in self._stays_of(name) if each != location}
        return sorted(newest, key=lambda each: (-newest[each], each))

    def _stays_of(self, name: Name) -> list[LocationAt]:
        """Return since when a name has meant which location, oldest first; at one instant the smaller one wins."""
        found = self._stays.get(name)
        if found is None:
            found = []
            for _, same in groupby(self._bindings[name], key=lambda at_us: at_us[0]):
                time_us, location = next(same)
                if not found or found[-1][1] != location:
                    found.append((time_us, location))
            self._stays[name] = found
        return found
