"""Reads the records of Event Hubs Capture (Avro).

Records of Headwater's own hub have Headwater's properties. Records of other hubs are plain events.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import BinaryIO

from headwater.common.errors import GiveUp
from headwater.common.extras import require_extra
from headwater.intake.event_log import RecordKind
from headwater.intake.event_log.event_hub_records import logged_record

AVRO = b"Obj\x01"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_capture_bodies(file: BinaryIO, claim: Callable[[bytes], bytes]) -> Iterator[bytes | None]:
    """Yield the body of each record, or None for a note about refused requests, which is not an event.

    claim: returns a large body by its key. If `claim` raises GiveUp, the large body no longer exists, and its key is
    yielded instead. Other exceptions of `claim` are passed on. Raises EOFError if the file is damaged or incomplete.
    """
    with require_extra("azure"):
        import fastavro  # noqa: PLC0415 - an extra
    try:
        for found in fastavro.reader(file):
            yield _body_of_record(found, claim)  # type: ignore[arg-type]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise EOFError(f"Damaged Avro, or not from Event Hubs Capture: {type(error).__name__}: {error}.") from error


def _body_of_record(found: dict[str, object], claim: Callable[[bytes], bytes]) -> bytes | None:
    body, properties = found["Body"], found.get("Properties")
    if not isinstance(body, bytes):
        raise TypeError("Body is not bytes")
    record = logged_record(0, _EPOCH, body, properties if isinstance(properties, dict) else None)
    if record.kind is RecordKind.REFUSAL:
        return None
    if record.kind is not RecordKind.CLAIM:
        return body
    try:
        return claim(body)
    except GiveUp:
        return body
