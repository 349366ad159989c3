"""Feed a replay: the selected events in the order of their event times, batch by batch."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import Progress, heads_at
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_order import EventList, OrderedPlace
from headwater.sinks.contract.error_isolation import event_position
from headwater.sinks.contract.sink_shape import REPLAYED
from headwater.sinks.merging.earlier_events import events_at
from headwater.sinks.running.delivery import MAX_BATCH_EVENTS
from headwater.sinks.running.sink_feed import Batch, ReplayRows, select_batch


class ReplayFeed:
    """A reader of a list of events; its position is a row number."""

    def __init__(self, bronze: Bronze, events: EventList, matches: Callable[[StoredHead], bool]) -> None:
        self._bronze = bronze
        self._events = events
        self._wants = matches
        self._ends_behind = events.total

    def sources(self) -> Mapping[Source, int]:
        """Return the partition of the list with its length."""
        return {REPLAYED: self._events.total}

    def next_batch(self, progress: Progress) -> Batch | None:
        """Return the next batch after `progress`, None if there is none."""
        first, places = self._events.behind(_row(progress), MAX_BATCH_EVENTS)
        if not places:
            self._ends_behind = min(self._ends_behind, first)
            return None
        rows = {(each.source, each.sequence): row for row, each in enumerate(places, first + 1)}
        times_us = {(each.source, each.sequence): each.event_us for each in places}
        found = self._heads(places)
        wanted, passed = select_batch([head for _, head in found], self._wants)
        until = rows[found[passed][0], found[passed][1].sequence] - 1 if passed < len(found) else first + len(places)
        events = events_at(self._bronze, _chosen(found, wanted))
        at = [event_position(event) for event in events]
        listed = ReplayRows({each: rows[each] for each in at}, [times_us[each] for each in at])
        return Batch(REPLAYED, until, events, passed - len(wanted), listed)

    def is_exhausted(self, progress: Progress) -> bool:
        """Return whether `progress` covers the whole list."""
        return _row(progress) >= self._ends_behind

    def _heads(self, places: Sequence[OrderedPlace]) -> list[tuple[Source, StoredHead]]:
        """Return the events at these places, in order; events removed in the meantime are left out."""
        sequences: dict[Source, list[int]] = defaultdict(list)
        for each in places:
            sequences[each.source].append(each.sequence)
        heads = {source: heads_at(self._bronze, source, of) for source, of in sequences.items()}
        return [(each.source, head) for each in places if (head := heads[each.source].get(each.sequence))]


def _chosen(
    found: Sequence[tuple[Source, StoredHead]], wanted: Sequence[StoredHead]
) -> list[tuple[Source, StoredHead]]:
    chosen = {*wanted}
    return [(source, head) for source, head in found if head in chosen]


def _row(progress: Progress) -> int:
    return progress.get((REPLAYED.epoch, REPLAYED.partition), 0)
