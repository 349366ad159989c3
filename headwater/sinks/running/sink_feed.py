"""What a sink has not taken yet, batch by batch, from the place in the lake where it stands."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import Progress, first_behind, sources_ahead, stored_bodies, stored_heads
from headwater.lake.bronze_tables import Bronze
from headwater.sinks.contract.guarding import Hide, place
from headwater.sinks.contract.sink_shape import Payload, SinkEvent, Target
from headwater.sinks.merging.earlier_events import payloads_of
from headwater.sinks.running.delivery import AT_ONCE, BATCH_BYTES


class Batch(NamedTuple):
    """Events of one source up to `until`; left_out: how many beside them the filter keeps back.

    listed: where they stand in the list of a replay, None where they are in the order of the lake.
    """

    source: Source
    until: int
    events: list[SinkEvent]
    left_out: int
    listed: "ListedRows | None" = None

    def payloads(self, target: Target, bronze: Bronze, hide: Hide) -> list[Payload]:
        """Return what a target is sent of them."""
        if self.listed is None or not self.events:
            return payloads_of(target, bronze, self.events, hide)
        found = payloads_of(target, bronze, self.events, hide, self.listed.times_us[0])
        return [each._replace(row=self.listed.rows.get(place(each.event), self.until)) for each in found]


class ListedRows(NamedTuple):
    """Rows by the places of the events of a batch, and the events' own times (us, UTC), both in order."""

    rows: Mapping[tuple[Source, int], int]
    times_us: Sequence[int]


class Feed(Protocol):
    """Where a sink's batches come from."""

    def sources(self) -> Mapping[Source, int]:
        """Return what it is made of, and how far each reaches."""

    def next(self, progress: Progress) -> Batch | None:
        """Return the next batch behind `progress`, None where there is none."""

    def is_through(self, progress: Progress) -> bool:
        """Tell whether nothing is left of what was there when it was looked at last."""


class SinkFeed:
    """One reader of bronze."""

    def __init__(self, bronze: Bronze, wants: Callable[[StoredHead], bool]) -> None:
        """Open nothing. wants: the sink's filter."""
        self._bronze = bronze
        self._wants = wants
        self._heads: dict[Source, int] | None = None
        self._seen: tuple[int, Mapping[tuple[str, str], int]] | None = None

    def sources(self) -> Mapping[Source, int]:
        """Return the partitions of the lake with their newest sequence numbers."""
        return sources_ahead(self._bronze, {}) if self._bronze.exists() else {}

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
        wanted, passed = wanted_of(heads, self._wants)
        if passed < len(heads):
            until = heads[passed].sequence - 1
        bodies = stored_bodies(self._bronze, source, [each.sequence for each in wanted])
        events = [SinkEvent(source, each, bodies[each.sequence].encode()) for each in wanted]
        return Batch(source, until, events, passed - len(wanted))


def wanted_of(heads: Sequence[StoredHead], wants: Callable[[StoredHead], bool]) -> tuple[list[StoredHead], int]:
    """Return the events that a filter lets by, as many as a batch has room for, and how many were looked at."""
    wanted: list[StoredHead] = []
    size = 0
    for passed, each in enumerate(heads):
        if wants(each):
            size += each.size
            if wanted and size > BATCH_BYTES:
                return wanted, passed
            wanted.append(each)
    return wanted, len(heads)
