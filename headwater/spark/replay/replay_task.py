"""Deliver one partition of a replay batch in order. The Spark task on the executor opens the target itself."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pyarrow as pa

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.sinks.connecting.secrets import Secrets, entra_token_source
from headwater.sinks.interface.error_isolation import (
    MaskSecrets,
    convert_guarded,
    escape_control_characters,
    event_position,
)
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import Payload, SinkEvent, Target
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.running.delivery import BATCH_BYTES, MAX_BATCH_EVENTS, Delivery, DeliveryPace

SHOWN = 20
"""Maximum number of reasons for refusals that a replay reports."""

PLACE = ("log", "incarnation", "partition")
ROWS = (*PLACE, "selected_us", *StoredHead._fields, "body")
"""Columns that a task reads. `body` is null if the sink's filter excludes the event.

selected_us: the time (us) to which the replay's time range applies, either the event time or the receipt time.
"""

COUNTS_SCHEMA = "sent long, refused long, left_out long, bytes long, first_us long, last_us long, reasons array<string>"
"""Columns that a task returns in one row, equal to the fields of `ReplayCounts`."""
_COUNTS_ARROW_SCHEMA = pa.schema(
    [*((name.split()[0], pa.int64()) for name in COUNTS_SCHEMA.split(", ")[:-1]), ("reasons", pa.list_(pa.string()))]
)


@dataclass
class ReplayCounts:
    """Counts of replayed events.

    sent: number of sent events; in a dry run, the number of events to send. refused: number of events that the target
    rejected or that cannot be converted. left_out: number of events that the sink's filter excludes. bytes: size of the
    payloads in a dry run. first_us, last_us: range of `selected_us`. reasons: texts about the first refused events.
    """

    sent: int = 0
    refused: int = 0
    left_out: int = 0
    bytes: int = 0
    first_us: int | None = None
    last_us: int | None = None
    reasons: list[str] = field(default_factory=list)

    def add(self, other: "ReplayCounts") -> None:
        """Add the results of another task."""
        self.sent, self.refused = self.sent + other.sent, self.refused + other.refused
        self.left_out, self.bytes = self.left_out + other.left_out, self.bytes + other.bytes
        self.first_us = min((each for each in (self.first_us, other.first_us) if each is not None), default=None)
        self.last_us = max((each for each in (self.last_us, other.last_us) if each is not None), default=None)
        self.reasons = [*self.reasons, *other.reasons][:SHOWN]


@dataclass(frozen=True)
class ReplayTask:
    """Function that Spark pickles and runs on the executors. It contains references to secrets, not their values.

    rate: maximum number of events per second in each task, or None for no limit. dry_run: convert and count the events
    without sending them.
    """

    sink: Sink
    rate: float | None
    dry_run: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Deliver the rows of a partition in order and yield one row of `COUNTS_SCHEMA`."""
        counts, secrets = ReplayCounts(), Secrets(entra_token_source(None))
        chunks = _split_into_chunks(_selected_events(batches, counts))
        with closing(open_sink(self.sink, secrets.reveal)) as target:
            (_dry_run if self.dry_run else self._send)(target, chunks, counts, secrets.mask)
        yield pa.RecordBatch.from_pylist([vars(counts)], _COUNTS_ARROW_SCHEMA)

    def _send(
        self, target: Target, chunks: Iterable[list[SinkEvent]], counts: ReplayCounts, mask_secrets: MaskSecrets
    ) -> None:
        delivery = Delivery(target, DeliveryPace(self.rate), None, mask_secrets)
        for events in chunks:
            delivery.add(convert_guarded(target.convert, events, event_position, mask_secrets))
            while not (delivery.is_done or delivery.needs_probe):
                time.sleep(delivery.attempt_delivery())
            _count_outcomes(delivery, counts, mask_secrets)
        _finish_delivery(delivery)
        _count_outcomes(delivery, counts, mask_secrets)


def _count_outcomes(delivery: Delivery, counts: ReplayCounts, mask_secrets: MaskSecrets) -> None:
    reasons = [
        f"{each.payload.event.head.event_id}: {escape_control_characters(mask_secrets(each.reason))}"
        for each in delivery.refused[:SHOWN]
    ]
    counts.add(ReplayCounts(delivery.pop_delivered(), len(delivery.refused), reasons=reasons))
    delivery.refused.clear()


def _finish_delivery(delivery: Delivery) -> None:
    """Deliver the remaining events. To check whether the target works, send the event again that it accepted last."""
    while not delivery.is_done:
        wait_s = delivery.attempt_delivery()
        if delivery.needs_probe and delivery.last_accepted:
            wait_s = delivery.probe_with(delivery.last_accepted)
        time.sleep(wait_s)


def _dry_run(
    target: Target, chunks: Iterable[list[SinkEvent]], counts: ReplayCounts, mask_secrets: MaskSecrets
) -> None:
    for events in chunks:
        payloads = convert_guarded(target.convert, events, event_position, mask_secrets)
        sent: list[Payload] = [each for each in payloads if each.unfit is None]
        counts.add(ReplayCounts(len(sent), len(payloads) - len(sent), 0, sum(len(each.body) for each in sent)))


def _selected_events(batches: Iterable[pa.RecordBatch], counts: ReplayCounts) -> Iterator[SinkEvent]:
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ROWS)
        for log, epoch, partition, selected_us, *head, body in zip(*columns, strict=True):
            if body is None:
                counts.left_out += 1
            else:
                counts.add(ReplayCounts(first_us=selected_us, last_us=selected_us))
                yield SinkEvent(Source(log, epoch, partition), StoredHead(*head), body.encode())


def _split_into_chunks(events: Iterable[SinkEvent]) -> Iterator[list[SinkEvent]]:
    """Split events into chunks with the same maximum size as in the sinks service, which limits memory."""
    some: list[SinkEvent] = []
    size = 0
    for event in events:
        size += event.head.size
        if some and (len(some) == MAX_BATCH_EVENTS or size > BATCH_BYTES):
            yield some
            some, size = [], event.head.size
        some.append(event)
    if some:
        yield some
