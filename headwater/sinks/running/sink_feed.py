"""What a sink has not taken yet, batch by batch, from the place in the lake where it stands."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import first_behind, sources_ahead, stored_bodies, stored_heads
from headwater.lake.bronze_tables import Bronze
from headwater.sinks.contract.sink_shape import SinkEvent
from headwater.sinks.running.delivery import AT_ONCE, BATCH_BYTES


class Batch(NamedTuple):
    """Events of one partition up to `until`; left_out: how many beside them the filter keeps back."""

    source: Source
    until: int
    events: list[SinkEvent]
    left_out: int


class SinkFeed:
    """One reader of bronze."""

    def __init__(
        self, bronze: Bronze, wants: Callable[[StoredHead], bool], until: Mapping[Source, int] | None = None
    ) -> None:
        """Open nothing. wants: the sink's filter; until: where each partition ends for it, None where it has no end."""
        self._bronze = bronze
        self._wants = wants
        self._until = until
        self._heads: dict[Source, int] | None = None
        self._seen: tuple[int, Mapping[tuple[str, str], int]] | None = None

    def next(self, progress: Mapping[tuple[str, str], int]) -> Batch | None:
        """Return the next batch behind `progress`, None where there is none; asks no more where nothing has changed."""
        if not self._bronze.exists():
            return None
        if batch := self._within(progress):
            return batch
        seen = self._bronze.events.handle().version(), dict(progress)
        if seen == self._seen:
            return None
        self._heads = sources_ahead(self._bronze, progress)
        if self._until is not None:
            self._heads = {each: min(head, self._until.get(each, 0)) for each, head in self._heads.items()}
        if not self._heads:
            self._seen = seen
        return self._within(progress)

    def is_through(self, progress: Mapping[tuple[str, str], int]) -> bool:
        """Tell whether nothing is left of what was there when the lake was looked at last."""
        heads = self._heads
        return heads is not None and all(
            progress.get((each.epoch, each.partition), 0) >= head for each, head in heads.items()
        )

    def _within(self, progress: Mapping[tuple[str, str], int]) -> Batch | None:
        for source, head in (self._heads or {}).items():
            after = progress.get((source.epoch, source.partition), 0)
            if after < head:
                return self._batch(source, after, head)
        return None

    def _batch(self, source: Source, after: int, head: int) -> Batch:
        until = min(head, after + AT_ONCE)
        heads = stored_heads(self._bronze, source, after, until)
        if not heads and (first := first_behind(self._bronze, source, until)):  # numbers of a log may have wide gaps
            until = min(head, first + AT_ONCE - 1)
            heads = stored_heads(self._bronze, source, first - 1, until)
        wanted: list[StoredHead] = []
        size = passed = 0
        for each in heads:
            if self._wants(each):
                size += each.size
                if wanted and size > BATCH_BYTES:
                    until = each.sequence - 1
                    break
                wanted.append(each)
            passed += 1
        bodies = stored_bodies(self._bronze, source, [each.sequence for each in wanted])
        events = [SinkEvent(source, each, bodies[each.sequence].encode()) for each in wanted]
        return Batch(source, until, events, passed - len(wanted))


def events_at(bronze: Bronze, places: Sequence[tuple[Source, StoredHead]]) -> list[SinkEvent]:
    """Return events with their bodies, in the order of their places."""
    by_source: dict[Source, list[int]] = defaultdict(list)
    for source, head in places:
        by_source[source].append(head.sequence)
    bodies = {source: stored_bodies(bronze, source, sequences) for source, sequences in by_source.items()}
    return [SinkEvent(source, head, bodies[source][head.sequence].encode()) for source, head in places]
