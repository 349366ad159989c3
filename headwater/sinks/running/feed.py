"""Read the events from the lake that a sink has not sent yet, batch by batch."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import Progress, first_sequence_after, sources_ahead, stored_bodies, stored_heads
from headwater.lake.bronze_tables import Bronze
from headwater.sinks.interface.error_isolation import MaskSecrets, event_position
from headwater.sinks.interface.shape import Payload, SinkEvent, Target
from headwater.sinks.merging.payloads import build_payloads
from headwater.sinks.running.delivery import BATCH_BYTES, MAX_BATCH_EVENTS


class Batch(NamedTuple):
    """The events of one source up to sequence number `until`, without the `left_out` events that the filter excludes.

    replay_rows: the rows of the events in the list of a replay, or None if the sink is not a replay.
    """

    source: Source
    until: int
    events: list[SinkEvent]
    left_out: int
    replay_rows: "ReplayRows | None" = None

    def payloads(self, target: Target, bronze: Bronze, mask_secrets: MaskSecrets) -> list[Payload]:
        """Convert the events of the batch to payloads for a target."""
        if self.replay_rows is None or not self.events:
            return build_payloads(target, bronze, self.events, mask_secrets)
        found = build_payloads(target, bronze, self.events, mask_secrets, self.replay_rows.times_us[0])
        return [each._replace(row=self.replay_rows.rows.get(event_position(each.event), self.until)) for each in found]


class ReplayRows(NamedTuple):
    """The place of a batch's events in the list of a replay.

    rows: maps the position of each event to its row in the list, in order. times_us: event times in this order (us,
    UTC).
    """

    rows: Mapping[tuple[Source, int], int]
    times_us: Sequence[int]


class Feed(Protocol):
    """The source of a sink's batches."""

    def sources(self) -> Mapping[Source, int]:
        """Return the partitions with their newest sequence numbers."""

    def next_batch(self, progress: Progress) -> Batch | None:
        """Return the next batch after `progress`, None if there is none."""

    def is_exhausted(self, progress: Progress) -> bool:
        """Return whether `progress` covers all events that the last read of the source found."""


class SinkFeed:
    """Reads the events of bronze that one sink has not sent, in the order of the lake."""

    def __init__(self, bronze: Bronze, matches: Callable[[StoredHead], bool]) -> None:
        self._bronze = bronze
        self._wants = matches
        self._heads: dict[Source, int] | None = None
        self._seen: tuple[int, Mapping[tuple[str, str], int]] | None = None

    def sources(self) -> Mapping[Source, int]:
        """Return the partitions of the lake with their newest sequence numbers."""
        return sources_ahead(self._bronze, {}) if self._bronze.exists() else {}

    def next_batch(self, progress: Mapping[tuple[str, str], int]) -> Batch | None:
        """Return the next batch after `progress`, None if there is none; an unchanged lake is not queried again."""
        if not self._bronze.exists():
            return None
        if batch := self._next_batch_within(progress):
            return batch
        seen = self._bronze.events.handle().version(), dict(progress)
        if seen == self._seen:
            return None
        self._heads = sources_ahead(self._bronze, progress)
        if not self._heads:
            self._seen = seen
        return self._next_batch_within(progress)

    def is_exhausted(self, progress: Mapping[tuple[str, str], int]) -> bool:
        """Return whether `progress` covers all events that the last query found; false before the first query."""
        heads = self._heads
        return heads is not None and all(
            progress.get((each.epoch, each.partition), 0) >= head for each, head in heads.items()
        )

    def _next_batch_within(self, progress: Mapping[tuple[str, str], int]) -> Batch | None:
        for source, head in (self._heads or {}).items():
            after = progress.get((source.epoch, source.partition), 0)
            if after < head:
                return self._read_batch(source, after, head)
        return None

    def _read_batch(self, source: Source, after: int, head: int) -> Batch:
        until = min(head, after + MAX_BATCH_EVENTS)
        heads = stored_heads(self._bronze, source, after, until)
        if not heads and (
            first := first_sequence_after(self._bronze, source, until)
        ):  # sequence numbers may have wide gaps
            until = min(head, first + MAX_BATCH_EVENTS - 1)
            heads = stored_heads(self._bronze, source, first - 1, until)
        wanted, passed = select_batch(heads, self._wants)
        if passed < len(heads):
            until = heads[passed].sequence - 1
        bodies = stored_bodies(self._bronze, source, [each.sequence for each in wanted])
        events = [SinkEvent(source, each, bodies[each.sequence].encode()) for each in wanted]
        return Batch(source, until, events, passed - len(wanted))


def select_batch(heads: Sequence[StoredHead], matches: Callable[[StoredHead], bool]) -> tuple[list[StoredHead], int]:
    """Return the events that pass a filter, up to BATCH_BYTES in total, and the number of events examined."""
    wanted: list[StoredHead] = []
    size = 0
    for passed, each in enumerate(heads):
        if matches(each):
            size += each.size
            if wanted and size > BATCH_BYTES:
                return wanted, passed
            wanted.append(each)
    return wanted, len(heads)
