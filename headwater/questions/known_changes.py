"""What changed in a stretch, kept from question to question: worked out anew is what events were about since.

All that is told of a dataset or a job follows from what was said under its names; so what no event was about stands.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from headwater.index.reading.change_history import ChangeHistory
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.touched import Touched, job_names, touched_since
from headwater.lineage.names.dataset_history import Span
from headwater.lineage.names.dataset_name import Name
from headwater.questions.found_changes import (
    Difference,
    dataset_differences,
    deleted_jobs,
    job_differences,
    new_jobs,
)

_STRETCHES, _ROWS = 4, 100_000
"""So many stretches are kept, of so many differences together (about 50 MB)."""


def known_changes(live: LiveGraph, between: tuple[int, int]) -> Sequence[Difference]:
    """Return all that is other behind one moment and up to another (us, UTC), in no order."""
    kept: dict[tuple[int, int], _Stretch] = live.brought_up("changes", dict)
    stretch = kept.pop(between, None) or _Stretch(between)
    found = stretch.bring_up(live)
    kept[between] = stretch
    while len(kept) > _STRETCHES or (kept and sum(each.rows for each in kept.values()) > _ROWS):
        del kept[next(iter(kept))]  # who was not asked for longest
    return found


class _Stretch:
    """The differences of one stretch, by what they are of."""

    def __init__(self, between: tuple[int, int]) -> None:
        self.rows = 0
        self._between = between
        self._generation = 0
        self._clear()

    def _clear(self) -> None:
        self._datasets: dict[Name, list[Difference]] = {}
        self._new_jobs: dict[Name, Difference] = {}
        self._jobs: dict[Name, list[Difference]] = {}

    def bring_up(self, live: LiveGraph) -> list[Difference]:
        """Work out what events were about since the last time; return all.

        live: at rest on one generation.
        """
        touched = touched_since(live, self._generation)
        if touched is None or live.acted > self._generation:
            self._clear()
            self._take(live, None)
        elif touched.datasets or touched.jobs:
            self._take(live, touched)
        self._generation = live.generation
        new = {each.name for each in self._new_jobs.values()}
        told = (
            each for each in chain.from_iterable(self._jobs.values()) if each.thing == "owner" or each.name not in new
        )
        deleted = deleted_jobs(ChangeHistory(live, *self._between))
        found = [*chain.from_iterable(self._datasets.values()), *self._new_jobs.values(), *deleted, *told]
        self.rows = len(found)
        return found

    def _take(self, live: LiveGraph, touched: Touched | None) -> None:
        """Take the differences of what was touched anew, None: of everything."""
        datasets = jobs = None
        if touched is not None:
            datasets, jobs = _datasets_of(live, touched.datasets), job_names(live, touched.jobs)
            for name in datasets:
                self._datasets.pop(name, None)
            for name in jobs:
                self._new_jobs.pop(name, None)
                self._jobs.pop(name, None)
            touched = Touched(_numbers(live, live.naming.names_of_any(datasets)), _numbers(live, jobs))
        history = ChangeHistory(live, *self._between, of=touched)
        for each in dataset_differences(live, history):
            if datasets is None or each.name in datasets:
                self._datasets.setdefault(each.name, []).append(each)
        self._new_jobs.update(new_jobs(live, history))
        for each in job_differences(history):
            self._jobs.setdefault(each.name, []).append(each)


def _datasets_of(live: LiveGraph, numbers: Iterable[int]) -> set[Name]:
    """Return every dataset, without generations, that may be meant by names as sent, at whatever time."""
    naming, found = live.naming, set[Name]()
    for name in map(live.names.name, numbers):
        locations = (location for _, location in naming.bindings.get(name, ()))
        found.update(each.plain for each in (name, *locations, *naming.datasets_in(Span(name))))
    return found


def _numbers(live: LiveGraph, names: Iterable[Name]) -> set[int]:
    return {number for number in map(live.names.known, names) if number}
