"""What a task of a replay does: its share of a batch, in order, to a target that is opened where the task runs."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pyarrow as pa

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.sinks.connecting.secrets import Secrets, entra_token
from headwater.sinks.contract.error_isolation import MaskSecrets, convert_guarded, event_position, one_line
from headwater.sinks.contract.options import Sink
from headwater.sinks.contract.shape import Payload, SinkEvent, Target
from headwater.sinks.contract.target_registry import open_sink
from headwater.sinks.running.delivery import BATCH_BYTES, MAX_BATCH_EVENTS, Delivery, Pace

SHOWN = 20
"""The maximum number of reported reasons."""

PLACE = ("log", "incarnation", "partition")
ROWS = (*PLACE, "selected_us", *StoredHead._fields, "body")
"""Columns that a task reads; events that the filter keeps back have no body. selected_us: the time that selects."""

TOLD = "sent long, refused long, left_out long, bytes long, first_us long, last_us long, reasons array<string>"
_TOLD = pa.schema(
    [*((name.split()[0], pa.int64()) for name in TOLD.split(", ")[:-1]), ("reasons", pa.list_(pa.string()))]
)


@dataclass
class Told:
    """What became of events; bytes: of those sent; first_us, last_us: of the times by which they were selected."""

    sent: int = 0
    refused: int = 0
    left_out: int = 0
    bytes: int = 0
    first_us: int | None = None
    last_us: int | None = None
    reasons: list[str] = field(default_factory=list)

    def add(self, other: "Told") -> None:
        """Add the results of another task."""
        self.sent, self.refused = self.sent + other.sent, self.refused + other.refused
        self.left_out, self.bytes = self.left_out + other.left_out, self.bytes + other.bytes
        self.first_us = min((each for each in (self.first_us, other.first_us) if each is not None), default=None)
        self.last_us = max((each for each in (self.last_us, other.last_us) if each is not None), default=None)
        self.reasons = [*self.reasons, *other.reasons][:SHOWN]


@dataclass(frozen=True)
class ReplayTask:
    """Pickled to where it runs: of secrets it carries where they lie. rate: events a second; looks: sends nothing."""

    sink: Sink
    rate: float | None
    looks: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take the rows of a partition, in order; gives one row of TOLD."""
        told, secrets = Told(), Secrets(entra_token(None))
        chunks = _chunks(_wanted(batches, told))
        with closing(open_sink(self.sink, secrets.reveal)) as target:
            (_look if self.looks else self._send)(target, chunks, told, secrets.mask)
        yield pa.RecordBatch.from_pylist([vars(told)], _TOLD)

    def _send(self, target: Target, chunks: Iterable[list[SinkEvent]], told: Told, mask_secrets: MaskSecrets) -> None:
        delivery = Delivery(target, Pace(self.rate), None, mask_secrets)
        for events in chunks:
            delivery.add(convert_guarded(target.convert, events, event_position, mask_secrets))
            while not (delivery.is_done or delivery.needs_probe):
                time.sleep(delivery.attempt())
            _tell(delivery, told, mask_secrets)
        _settle(delivery)
        _tell(delivery, told, mask_secrets)


def _tell(delivery: Delivery, told: Told, mask_secrets: MaskSecrets) -> None:
    reasons = [
        f"{each.payload.event.head.event_id}: {one_line(mask_secrets(each.reason))}"
        for each in delivery.refused[:SHOWN]
    ]
    told.add(Told(delivery.pop_delivered(), len(delivery.refused), reasons=reasons))
    delivery.refused.clear()


def _settle(delivery: Delivery) -> None:
    """Send what is left when nothing follows: whether the target works is asked with what it took before."""
    while not delivery.is_done:
        wait_s = delivery.attempt()
        if delivery.needs_probe and delivery.last_accepted:
            wait_s = delivery.probe_with(delivery.last_accepted)
        time.sleep(wait_s)


def _look(target: Target, chunks: Iterable[list[SinkEvent]], told: Told, mask_secrets: MaskSecrets) -> None:
    for events in chunks:
        payloads = convert_guarded(target.convert, events, event_position, mask_secrets)
        sent: list[Payload] = [each for each in payloads if each.unfit is None]
        told.add(Told(len(sent), len(payloads) - len(sent), 0, sum(len(each.body) for each in sent)))


def _wanted(batches: Iterable[pa.RecordBatch], told: Told) -> Iterator[SinkEvent]:
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ROWS)
        for log, epoch, partition, selected_us, *head, body in zip(*columns, strict=True):
            if body is None:
                told.left_out += 1
            else:
                told.add(Told(first_us=selected_us, last_us=selected_us))
                yield SinkEvent(Source(log, epoch, partition), StoredHead(*head), body.encode())


def _chunks(events: Iterable[SinkEvent]) -> Iterator[list[SinkEvent]]:
    """Return events as a sink takes them: no more in memory than a batch of a sink."""
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
