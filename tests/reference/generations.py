"""Map each mention of a dataset to a generation (docs/reference/lineage.md: generations)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

from tests.reference.names import Name, Names
from tests.reference.records import Delivered, Run, facets_of, merged, says_lineage

Dataset = tuple[str, str, str]  # namespace, name, generation: the key of the run that ended its predecessor

BEGINNING = -(2**63)
NEVER = 2**63


@dataclass(frozen=True, order=True)
class End:
    """The end of a generation. The next generation is identified by the run that caused the end."""

    time_us: int
    run: str
    by_rename: bool


@dataclass(frozen=True)
class Stay:
    """A period in which a name refers to one dataset: from one end or rename to the next."""

    dataset: Dataset
    begin_us: int
    end_us: int


class Generations:
    """All drops and renames that a set of events reports."""

    def __init__(self, runs: Iterable[Run], names: Names) -> None:
        self.names = names
        self.runs = list(runs)
        self.ends: dict[Name, list[End]] = defaultdict(list)
        self.renames: dict[Name, list[tuple[int, str, Name]]] = defaultdict(list)
        self.by_run: dict[tuple[str, Name], End] = {}
        for run in self.runs:
            if run.completes:
                self._read_changes(run)
        self._settle_ties()

    # Resolving mentions

    def said(self, named: dict[str, Any], event: Delivered, run: Run | None) -> Dataset | None:
        """Return the dataset that an output, or the owner of a schema, refers to."""
        name = self.names.mention(named, event)
        if not name:
            return None
        change, end = changed(named), self.by_run.get((run.key, name)) if run else None
        if end and change == "DROP":
            return (*name, self._generation(name, end.time_us - 1))
        if change == "RENAME" and run and (end or run.completes) and (before := before_rename(named)):
            old = self.names.mention(before, event)
            return self.meant(name, end.time_us) if end else old and self.meant(old, event.time_us)
        return self.meant(name, event.time_us)

    def described(self, named: dict[str, Any], event: Delivered) -> Dataset | None:
        """Return the dataset that an output describes.

        A DROP or a RENAME describes the dataset from just before the change.
        """
        change, before = changed(named), before_rename(named)
        if change == "DROP" or (change == "RENAME" and before):
            name = self.names.mention(before if before and change == "RENAME" else named, event)
            return self.meant(name, event.time_us - 1) if name else None
        return self.said(named, event, None)

    def read(self, named: dict[str, Any], event: Delivered, run: Run) -> Dataset | None:
        """Return the dataset that an input, or a source in lineage, refers to."""
        name = self.names.mention(named, event)
        if not name:
            return None
        begun = [stay for stay in self.stays(name) if stay.begin_us <= event.time_us]
        lived = [stay for stay in begun if self.lived_from(stay.dataset, run.key) <= event.time_us]
        within = [stay for stay in lived if stay.end_us >= run.first_us]
        own_end = self.by_run.get((run.key, name))
        others = [stay for stay in within if not own_end or stay.end_us != own_end.time_us]
        meant = begun[-1].dataset
        if not within and (self._writers(meant).keys() - {run.key} or not lived):
            return meant
        return (others or within or lived)[-1].dataset

    def declared(self, named: dict[str, Any], event: Delivered) -> Dataset | None:
        """Return the dataset that a JobEvent or DatasetEvent describes."""
        name = self.names.mention(named, event)
        if not name:
            return None
        every = self.of_dataset(self._followed(name, event.time_us)[0])
        return [each for each in every if self.has_lived(each) or not each[2]][-1]

    def meant(self, name: Name, time_us: int) -> Dataset:
        """Return the dataset that a mention of a bound name refers to at a time."""
        name, time_us = self._followed(name, time_us)
        return (*name, self._generation(name, time_us))

    # Generations of a name

    def newest(self, name: Name) -> Dataset:
        return (*name, self._generation(name, NEVER))

    def of_dataset(self, name: Name) -> list[Dataset]:
        """Return all generations, oldest first."""
        return [(*name, ""), *((*name, end.run) for end in self.ends.get(name, []))]

    def meant_back(self, name: Name) -> list[Dataset]:
        """Return the datasets that a bound name refers to now or referred to earlier, newest first."""
        return [stay.dataset for stay in reversed(self.stays(name))]

    def of_location(self, name: Name) -> set[Dataset]:
        """Return all generations that a bound name refers to or referred to, including renamed ones."""
        return {stay.dataset for stay in self.stays(name)} | set(self.of_dataset(name))

    def of_name(self, name: Name) -> set[Dataset]:
        """Return the same for a location and for all other locations to which its names are bound."""
        places = [name, *self.names.others(name, now=True)]
        return {each for place in places for each in self.of_location(place)}

    def asked(self, name: Name, known: set[Dataset], proven: set[Dataset]) -> list[Dataset]:
        """Return the newest existing generation of a name, preferably one about which something is known.

        If no run that counts knows this generation, the newest one that such a run knows is returned as well.
        """
        places = [name, *self.names.others(name, now=True)]
        every = [each for place in places for each in self.meant_back(place)]
        lived = [each for each in every if self.has_lived(each)]
        told = [dataset for dataset in lived if dataset in known]
        first = (told or [each for each in every if each in known] or lived or [(*name, "")])[0]
        others = [dataset for dataset in told if dataset in proven]
        return [first] if first in proven or not others else [first, others[0]]

    @cached_property
    def moves(self) -> set[tuple[Dataset, Dataset]]:
        """Return pairs (before, after): a generation that a name left, and a generation that the name referred to
        later.
        """
        found = set()
        for alias in self.names.bindings:
            stays = self.names.locations(alias)
            for n, (_, location) in enumerate(stays[:-1]):
                left = self.meant(location, stays[n + 1][0])
                found |= {(left, self.meant(later, by)) for at, later in stays[n + 1 :] for by in (at - 1, at)}
        return {(before, after) for before, after in found if before != after}

    def moved_on(self, dataset: Dataset, *, forward: bool) -> set[Dataset]:
        """Return the generations that a name refers to later, or (backward) referred to before."""
        pairs = self.moves if forward else {(after, before) for before, after in self.moves}
        return {other for each, other in pairs if each == dataset}

    def is_dropped(self, dataset: Dataset) -> bool:
        """Return whether a generation has ended, or was never written."""
        name = dataset[:2]
        return dataset != self.newest(name) or not self.has_lived(dataset)

    def has_lived(self, dataset: Dataset) -> bool:
        return self.lived_from(dataset) < NEVER

    def lived_from(self, dataset: Dataset, reader: str | None = None) -> int:
        """Return when a generation began to exist. Writes of `reader` itself do not count."""
        by_others = [at for run, at in self._writers(dataset).items() if run != reader]
        begin = next((end for end in self.ends.get(dataset[:2], []) if end.run == dataset[2]), End(BEGINNING, "", True))
        return min([*by_others, begin.time_us if begin.by_rename else NEVER])

    @cache  # noqa: B019 - a world is small and soon gone
    def stays(self, name: Name) -> list[Stay]:
        """Return the datasets that a bound name referred to over time, oldest first."""
        moments = {end.time_us for end in self.ends.get(name, [])} | {at for at, *_ in self.renames.get(name, [])}
        limits = [BEGINNING, *sorted(moments), NEVER]
        return [Stay(self.meant(name, begin_us), begin_us, end_us) for begin_us, end_us in pairwise(limits)]

    # Helpers

    def _followed(self, name: Name, time_us: int) -> tuple[Name, int]:
        """Follow a mention through renames. Returns the final name, and the time for the lookup of the generation."""
        while True:
            away = min((each for each in self.renames.get(name, []) if each[0] > time_us), default=None)
            ended_us = min((end.time_us for end in self.ends.get(name, []) if end.time_us > time_us), default=NEVER)
            if not away or ended_us < away[0]:
                return name, time_us
            time_us, _, name = away

    def _generation(self, name: Name, time_us: int) -> str:
        return max((end for end in self.ends.get(name, []) if end.time_us <= time_us), default=End(0, "", False)).run

    def _writers(self, dataset: Dataset) -> dict[str, int]:
        """Return the runs that write a generation, each with the time of its first write."""
        return self._written.get(dataset, {})

    @cached_property
    def _written(self) -> dict[Dataset, dict[str, int]]:
        found: dict[Dataset, dict[str, int]] = defaultdict(dict)
        for at, run, output in self._outputs:
            found[output][run] = min(at, found[output].get(run, at))
        return found

    @cached_property
    def _outputs(self) -> list[tuple[int, str, Dataset]]:
        return [
            (event.time_us, run.key, self.meant(name, event.time_us))
            for each in self.runs
            for run in (each, each.attempted)
            if run
            for event in run.telling
            for output in written(event)
            if (name := self.names.mention(output, event)) and self.last_word(run, name) != "DROP"
            if not (run.completes and changed(output) == "RENAME" and before_rename(output))
        ]

    def last_word(self, run: Run, name: Name) -> str | None:
        """Return the newest lifecycleStateChange that a run reports for a bound name."""
        words = [
            (facets_of(output), event)
            for event in run.counted
            for output in event.datasets("outputs")
            if self.names.mention(output, event) == name
        ]
        last = merged(words).get("lifecycleStateChange", ({}, None))[0].get("lifecycleStateChange")
        if run.counts or all(changed({"facets": facets}) == "DROP" for facets, _ in words):
            return last
        # an earlier attempt may have written, and no event reports whether it dropped
        return None if last == "DROP" else last

    def _read_changes(self, run: Run) -> None:
        """Record the drops and renames of a run. Of several reports about one name, the newest counts."""
        for event in run.counted:
            for output in event.datasets("outputs"):
                name, change = self.names.mention(output, event), changed(output)
                before = before_rename(output)
                old = self.names.mention(before, event) if before else None
                if not name or (change != "DROP" and (change != "RENAME" or not old)):
                    continue
                self.by_run[run.key, name] = End(event.time_us, run.key, change == "RENAME")
                if change == "RENAME" and old:
                    said = [each for each in self.renames[old] if each[1:] != (run.key, name)]
                    self.renames[old] = [*said, (event.time_us, run.key, name)]

    def _settle_ties(self) -> None:
        """Resolve ends at the same time: the end with the smallest run key counts."""
        together: dict[tuple[Name, int], list[End]] = defaultdict(list)
        for (_, name), end in self.by_run.items():
            together[name, end.time_us].append(end)
        for (name, time_us), ends in sorted(together.items()):
            self.ends[name].append(End(time_us, min(ends).run, any(end.by_rename for end in ends)))


def changed(dataset: dict[str, Any]) -> str | None:
    return (facets_of(dataset).get("lifecycleStateChange") or {}).get("lifecycleStateChange")


def written(event: Delivered) -> list[dict[str, Any]]:
    """Return the outputs of an event, including those that only a `lineage` facet names."""
    facets = [event.facets(entity).get("lineage") or {} for entity in ("run", "job")]
    telling = [each for each in facets if says_lineage(each)]
    entries = [entry for each in telling for entry in each.get("entries", []) if entry["type"] == "DATASET"]
    return event.datasets("outputs") + entries


def before_rename(dataset: dict[str, Any]) -> dict[str, Any] | None:
    return (facets_of(dataset).get("lifecycleStateChange") or {}).get("previousIdentifier")
