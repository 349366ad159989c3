"""What a replay sends: the selected events in the order of their own times, batch by batch."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import Progress, heads_at
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_order import EventList, OrderedPlace
from headwater.sinks.contract.guarding import place
from headwater.sinks.contract.sink_shape import REPLAYED
from headwater.sinks.merging.earlier_events import events_at
from headwater.sinks.running.delivery import AT_ONCE
from headwater.sinks.running.sink_feed import Batch, ListedRows, wanted_of


class ReplayFeed:
    """One reader of a list of events; its position is a row number."""

    def __init__(self, bronze: Bronze, events: EventList, wants: Callable[[StoredHead], bool]) -> None:
        """Read nothing. wants: the sink's filter."""
        self._bronze = bronze
        self._events = events
        self._wants = wants
        self._ends_behind = events.total

    def sources(self) -> Mapping[Source, int]:
        """Return the list and its length."""
        return {REPLAYED: self._events.total}

    def next(self, progress: Progress) -> Batch | None:
        """Return the next batch behind `progress`, None where there is none."""
        first, places = self._events.behind(_row(progress), AT_ONCE)
        if not places:
            self._ends_behind = min(self._ends_behind, first)
            return None
        rows = {(each.source, each.sequence): row for row, each in enumerate(places, first + 1)}
        times_us = {(each.source, each.sequence): each.event_us for each in places}
        found = self._heads(places)
        wanted, passed = wanted_of([head for _, head in found], self._wants)
        until = rows[found[passed][0], found[passed][1].sequence] - 1 if passed < len(found) else first + len(places)
        events = events_at(self._bronze, _chosen(found, wanted))
        at = [place(event) for event in events]
        listed = ListedRows({each: rows[each] for each in at}, [times_us[each] for each in at])
        return Batch(REPLAYED, until, events, passed - len(wanted), listed)

    def is_through(self, progress: Progress) -> bool:
        """Tell whether nothing is left."""
        return _row(progress) >= self._ends_behind

    def _heads(self, places: Sequence[OrderedPlace]) -> list[tuple[Source, StoredHead]]:
        """Return events in the order of their places; those that were removed meanwhile are left out."""
        sequences: dict[Source, list[int]] = defaultdict(list)
        for each in places:
            sequences[each.source].append(each.sequence)
        heads = {source: heads_at(self._bronze, source, of) for source, of in sequences.items()}
        return [(each.source, head) for each in places if (head := heads[each.source].get(each.sequence))]


def _chosen(
    found: Sequence[tuple[Source, StoredHead]], wanted: Sequence[StoredHead]
) -> list[tuple[Source, StoredHead]]:
    """Return those of places whose events are wanted."""
    chosen = {*wanted}
    return [(source, head) for source, head in found if head in chosen]


def _row(progress: Progress) -> int:
    return progress.get((REPLAYED.epoch, REPLAYED.partition), 0)
