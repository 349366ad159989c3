"""The datasets that are not up to date because of an incident (rule 4)."""

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.rules.user_rules import is_never_hidden
from headwater.lineage.snapshots.as_of import View
from headwater.questions.health_reader import MAX_DATASETS, HealthCache, HealthReader
from headwater.questions.neighbourhood import TableLinks

_MAX_VISITS = 8
"""How often a dataset is visited again because a later write of one of its inputs is found. It bounds cycles."""


class AffectedDataset(NamedTuple):
    """A dataset that is or was not up to date.

    distance: number of edges from the nearest root. refreshed_us: when it was up to date again, `MAX_TIME_US` if it is
    not yet.
    """

    name: Name
    distance: int
    refreshed_us: int


class AffectedDatasets:
    """Finds what depends on datasets that are not up to date, in one generation of the index at one moment."""

    def __init__(self, view: View, reader: HealthReader, known: HealthCache, readers: dict[int, list[int]]):
        """known: the health of all written datasets. readers: a cache of readers for this generation of the index."""
        self._graph, self._lifetimes = view.snapshot.graph, view.counted_edges.lifetimes
        self._links = TableLinks(view.snapshot, view.counted_edges, is_never_hidden)
        self._reader, self._known = reader, known
        self._readers = readers

    def find(self, roots: Mapping[Name, int]) -> dict[Name, AffectedDataset]:
        """Return the datasets that depend on roots, and the roots, by name.

        roots: for each root, the time (us) after which a write brings it up to date. A dataset downstream is up to date
        again after a run wrote it that began after all affected inputs were up to date. At most `MAX_DATASETS` datasets
        are visited; datasets that were never written are left out.
        """
        return self._with_downstream({name: self._first_write(name, us, 0) for name, us in roots.items()})

    def find_until(
        self, roots: Mapping[Name, int], resolved_us: int | None, has_downstream: bool
    ) -> dict[Name, AffectedDataset]:
        """Return roots that are affected until their incident is resolved, and the datasets that depend on them.

        roots: the time (us) at which each one became affected. resolved_us: None while the incident is open.
        has_downstream: whether datasets downstream are affected too. They need a run that began after the write that
        resolved the incident.
        """
        until_us = MAX_TIME_US if resolved_us is None else resolved_us
        found = self._with_downstream(
            {name: self._last_write(name, us, until_us) for name, us in roots.items()} if has_downstream else {}
        )
        return {**found, **{name: AffectedDataset(name, 0, until_us) for name in roots}}

    def _with_downstream(self, roots: Mapping[Name, int]) -> dict[Name, AffectedDataset]:
        """Return roots and what is downstream. roots: the time (us) at which each one was up to date again."""
        found = {name: AffectedDataset(name, 0, us) for name, us in roots.items()}
        numbers = ((self._lifetimes.newest_with_lineage(name), name) for name in sorted(roots))
        todo = deque((number, name) for number, name in numbers if number is not None)
        needed: dict[Name, int] = {}
        visits: dict[Name, int] = {}
        while todo:
            number, name = todo.popleft()
            source = found[name]
            for far in self._readers_of(number):
                reader = self._graph.names[far].without_generation
                if reader in roots or not self._is_written(reader):
                    continue
                known = found.get(reader)
                if known and (needed[reader] >= source.refreshed_us or visits[reader] >= _MAX_VISITS):
                    continue
                if not known and len(found) >= MAX_DATASETS:
                    continue
                needed[reader], visits[reader] = source.refreshed_us, visits.get(reader, 0) + 1
                distance = known.distance if known else source.distance + 1
                found[reader] = AffectedDataset(
                    reader, distance, self._first_write(reader, source.refreshed_us, source.refreshed_us)
                )
                todo.append((far, reader))
        return found

    def _readers_of(self, number: int) -> list[int]:
        if number not in self._readers:
            self._readers[number] = sorted(self._links.neighbours(number, forward=True))
        return self._readers[number]

    def _is_written(self, name: Name) -> bool:
        known = self._known.datasets.get(name)
        return known is not None and known.success_us is not None

    def _first_write(self, name: Name, time_us: int, started_us: int) -> int:
        """Return when a dataset was first written after a time by a run that began at or after another time.

        Returns `MAX_TIME_US` if it was not written.
        """
        known = self._known.datasets.get(name)
        if time_us == MAX_TIME_US or known is None or known.success_us is None or known.success_us <= time_us:
            return MAX_TIME_US
        outputs = self._reader.times.job_outputs_of(name)
        found = self._reader.times.first_write_after(outputs, time_us, started_us)
        return MAX_TIME_US if found is None else found

    def _last_write(self, name: Name, time_us: int, until_us: int) -> int:
        """Return the last write of a dataset after a time (us) and until another one, else the other one."""
        if until_us == MAX_TIME_US:
            return until_us
        found = self._reader.times.last_write_us(self._reader.times.job_outputs_of(name), until_us)
        return found if found is not None and found > time_us else until_us
