"""The format of records in an event hub: the body is unchanged, kind and request metadata are application properties.

Event Hubs numbers records from 0, and Headwater from 1 (0 means no record). Only this module converts between the two
numbers.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.intake.event_log import LoggedRecord, Record, RecordKind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_KINDS: dict[Any, RecordKind] = {kind.value: kind for kind in RecordKind}


def sequence_of(hub_sequence: int) -> int:
    """Convert a sequence number of the hub to a sequence of Headwater.

    A hub's -1, which means an empty partition, becomes 0.
    """
    return hub_sequence + 1


def starting_position(after: int) -> int | str:
    """Return the hub's exclusive starting position for the records after Headwater's sequence `after`."""
    return after - 1 if after else "-1"


def properties_of(record: Record) -> dict[str | bytes, Any]:
    """Return the application properties of a record."""
    return {"k": int(record.kind), "h": record.http}


def logged_record(
    hub_sequence: int, enqueued: datetime, body: bytes, properties: Mapping[Any, Any] | None
) -> LoggedRecord:
    """Convert a delivered message. A message without the properties of Headwater is an event from another sender.

    enqueued: when the hub stored the message, timezone-aware. properties: application properties; AMQP may deliver
    names and texts as bytes.
    """
    found = {_decode_text(name): value for name, value in (properties or {}).items()}
    kind, http = found.get("k"), _decode_text(found.get("h", "{}"))
    received_us = (enqueued - _EPOCH) // _MICROSECOND
    return LoggedRecord(sequence_of(hub_sequence), received_us, _KINDS.get(kind, RecordKind.EVENT), http, body)


def epoch_of(created: datetime) -> str:
    """Return the epoch of a hub, which is its creation time.

    A recreated hub has another epoch, because its sequence numbers start again at 0.
    """
    return created.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def _decode_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
