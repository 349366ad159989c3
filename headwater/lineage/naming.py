"""Rules 2 and 10 in time: which dataset a name means at a moment, by symlinks and renames."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable

from headwater.lineage.name import Name
from headwater.lineage.part import TERMINAL, Mention, Part

Moment = tuple[int, Name]
Rename = tuple[int, Name, Name]


class Naming:
    """Resolves canonical names; what it learns may come in any order and again."""

    def __init__(self) -> None:
        """Know no binding and no rename."""
        self.bindings: dict[Name, list[Moment]] = {}
        self.renames: dict[Name, list[Moment]] = {}
        self._renamed_by: dict[str, list[Rename]] = {}
        self._names: dict[Name, set[Name]] = {}

    def resolve(self, name: Name, time_us: int) -> Name:
        """Return the dataset that an event of this time means by a name."""
        found = self.bound(name, time_us)
        while self.renames:
            later = self.renames.get(found, ())
            index = bisect_right(later, time_us, key=lambda moment: moment[0])
            if index == len(later):
                break
            time_us, found = later[index]
        return found

    def bound(self, name: Name, time_us: int) -> Name:
        """Return the location that a name is bound to: newest binding up to the time, else the earliest later one."""
        moments = self.bindings.get(name)
        if not moments:
            return name
        index = bisect_right(moments, time_us, key=lambda moment: moment[0])
        if index == 0:
            return moments[0][1]
        return min(location for moment, location in moments[:index] if moment == moments[index - 1][0])

    def learn_bindings(self, part: Part) -> list[Name]:
        """Take the symlinks of an event; returns the names that mean something else now at some time."""
        return [
            alias
            for mention in (*part.inputs, *part.outputs)
            for alias, location in bindings_of(mention)
            if self.bind(alias, (part.time_us, location))
        ]

    def set_renames(self, run_key: str, found: list[Rename]) -> set[Name]:
        """Take what a run renames now, none if it failed after all; returns the names that mean something else."""
        before = self._renamed_by.get(run_key, [])
        if found == before:
            return set()
        for time_us, old, new in before:
            self.renames[old].remove((time_us, new))
        for time_us, old, new in found:
            insort(self.renames.setdefault(old, []), (time_us, new))
            self._names.setdefault(new, set()).add(old)
        self._renamed_by[run_key] = found
        return {name for _, old, _ in (*before, *found) for name in self.names_of(old)}

    def moves(self, name: Name) -> bool:
        """Tell whether a name means different datasets at different times, or another than itself."""
        return name in self.bindings or bool(self.renames.get(name))

    def datasets_of(self, name: Name) -> set[Name]:
        """Return every dataset that a name may mean at some time, itself included."""
        found, todo = {name}, [name]
        while todo:
            at = todo.pop()
            more = {other for _, other in (*self.bindings.get(at, ()), *self.renames.get(at, ()))} - found
            found |= more
            todo.extend(more)
        return found

    def names_of(self, dataset: Name) -> set[Name]:
        """Return every name that may mean a dataset at some time, itself included."""
        found, todo = {dataset}, [dataset]
        while todo:
            more = self._names.get(todo.pop(), set()) - found
            found |= more
            todo.extend(more)
        return found

    def bind(self, alias: Name, moment: Moment) -> bool:
        """Keep every binding, also one that repeats the last: another may yet come to stand between the two."""
        time_us, location = moment
        known = self.bound(alias, time_us) == location if alias in self.bindings else False
        moments = self.bindings.setdefault(alias, [])
        self._names.setdefault(location, set()).add(alias)
        if moment not in moments[bisect_left(moments, moment) :][:1]:
            insort(moments, moment)
        return not known


def bindings_of(mention: Mention) -> Iterable[tuple[Name, Name]]:
    """Yield (name, location) for each symlink of a dataset."""
    for link in mention.symlinks:
        yield (mention.name, link.name) if link.location else (link.name, mention.name)


def end_of(parts: Iterable[Part]) -> Part | None:
    """Rule 1: the newest terminal event of a run; at one instant FAIL before ABORT before COMPLETE."""
    ends = [part for part in parts if part.type in TERMINAL]
    return max(ends, key=lambda part: (*part.order[:2], TERMINAL.index(part.type)), default=None)


def renames_of(parts: Collection[Part], naming: Naming) -> list[Rename]:
    """Return (time, old, new) of the renames of a run, none unless it is COMPLETE."""
    return bound_renames(sent_renames(parts), naming)


def sent_renames(parts: Collection[Part]) -> list[Rename]:
    """Return (time, old, new) as a run says it, oldest first, none unless it is COMPLETE."""
    found = [
        (part.order, (part.time_us, mention.previous, mention.name))
        for part in parts
        for mention in part.outputs
        if mention.lifecycle == "RENAME" and mention.previous
    ]
    end = end_of(parts) if found else None
    ordered = sorted(found, key=lambda each: each[0])
    return [rename for _, rename in ordered] if end and end.type == "COMPLETE" else []


def bound_renames(sent: Iterable[Rename], naming: Naming) -> list[Rename]:
    """Return a run's renames, of each pair of locations the newest."""
    newest = {(naming.bound(old, time_us), naming.bound(new, time_us)): time_us for time_us, old, new in sent}
    return [(time_us, *names) for names, time_us in newest.items()]
