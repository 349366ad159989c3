"""Find the periods in which the same edge sets count for use. As time passes, only earlier executions stop counting.

Rule 6.8 defines the window in which earlier executions count.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import MIN_TIME_US, Snapshot


class WindowPeriods:
    """The periods in which the same edge sets count for the use of a dataset, for windows of one length."""

    def __init__(self, snapshot: Snapshot, length_us: int):
        """Prepare the periods. Jobs that are presumed retired (rule 6.12) count like other jobs.

        snapshot: the snapshot, which must not change afterwards.
        length_us: the length of the windows in microseconds; 0 if only newest executions count.
        """
        self._snapshot = snapshot
        self._length_us = length_us
        self._counted = snapshot.counted_edges()
        self._cached_views: dict[frozenset[int], CountedEdges] = {}

    def end_times_us(self, dataset: Name) -> Sequence[int]:
        """Return the times after the newest event at which edge sets that use a dataset stop counting.

        The times are sorted and in microseconds.
        """
        every = sorted({self._end_times_by_edge_set[number] for number in self._limited_edge_sets(dataset)})
        newest_us = self._snapshot.newest_event_us()
        return every if newest_us is None else every[bisect_right(every, newest_us) :]

    def counted_edges_at(self, dataset: Name, end_us: int | None) -> CountedEdges:
        """Return the edges that count for the use of a dataset in the window that ends at `end_us`.

        end_us: the end of the window in microseconds, None for the time of the newest event.
        """
        until_us = self._snapshot.newest_event_us() if end_us is None else end_us
        gone = frozenset(
            each
            for each in self._limited_edge_sets(dataset)
            if until_us is not None and self._end_times_by_edge_set[each] <= until_us
        )
        if gone not in self._cached_views:
            if len(self._cached_views) >= _MAX_CACHED_VIEWS:
                self._cached_views.clear()
            self._cached_views[gone] = self._without_edge_sets(gone)
        return self._cached_views[gone]

    def _without_edge_sets(self, gone: Set[int]) -> CountedEdges:
        recent = bytearray(self._recent_mask)
        for number in gone:
            recent[number] = 0
        return replace(self._counted, recent_mask=bytes(recent), attempted=self._counted.attempted - gone)

    def _limited_edge_sets(self, dataset: Name) -> set[int]:
        """Return the edge sets that count for a limited time and use the dataset or any dropped or renamed dataset."""
        found = {
            number
            for each in self._counted.lifetimes.all_generations(dataset)
            for number in self._reading_edge_sets(each)
        }
        return (found | self._readers_of_dropped) & self._end_times_by_edge_set.keys()

    def _reading_edge_sets(self, dataset: int) -> Iterator[int]:
        """Yield the edge sets that read or write a dataset, including runs that read it but did not complete."""
        graph = self._snapshot.graph
        yield from (
            *graph.edge_sets_reading(dataset),
            *graph.writers_by_dataset.get(dataset, ()),
            *graph.attempts_reading(dataset),
        )

    @cached_property
    def _readers_of_dropped(self) -> set[int]:
        """The edge sets that use dropped or renamed datasets. Walks follow readers through these datasets."""
        return {number for each in self._counted.dropped_datasets for number in self._reading_edge_sets(each)}

    @cached_property
    def _recent_mask(self) -> bytes:
        """A mask with 1 for each edge set that counts as long as the window contains its last run."""
        counted = self._counted
        if not self._length_us:
            return bytes(len(counted.last_us))
        return bytes(
            at != MIN_TIME_US and number not in counted.retired_edge_sets for number, at in enumerate(counted.last_us)
        )

    @cached_property
    def _end_times_by_edge_set(self) -> dict[int, int]:
        """Maps edge sets to the end (us) of the first window in which they do not count."""
        if not self._length_us:
            return {}
        counted = self._counted
        masks = counted.live_mask, counted.latest_mask, counted.reading_mask
        found = {
            number: counted.last_us[number]
            for number, is_recent in enumerate(self._recent_mask)
            if is_recent and not all(mask[number] for mask in masks)
        }
        found |= {number: self._snapshot.report_times(number).last_us for number in counted.attempted}
        return {number: last_us + self._length_us + 1 for number, last_us in found.items()}


_MAX_CACHED_VIEWS = 64
