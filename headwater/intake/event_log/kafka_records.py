"""The format of records in a Kafka topic: the body is the value, kind and request metadata are the headers `k` and `h`.

Kafka numbers records from 0, and Headwater from 1 (0 means no record). So Headwater's sequence of a record equals
Kafka's offset of the next record. Only this module converts between the two numbers.
"""

from collections.abc import Sequence
from typing import Any

from headwater.intake.event_log import LoggedRecord, Record, RecordKind

_KINDS = {str(kind.value).encode(): kind for kind in RecordKind}


def sequence_of(offset: int) -> int:
    """Convert an offset of Kafka to a sequence of Headwater."""
    return offset + 1


def offset_after(sequence: int) -> int:
    """Return Kafka's offset of the record after a sequence of Headwater."""
    return sequence


def headers_of(record: Record) -> list[tuple[str, str | bytes | None]]:
    """Return the headers of a record."""
    return [("k", b"%d" % record.kind), ("h", record.http.encode())]


def logged_record(
    offset: int, timestamp_ms: int, value: bytes | None, headers: Sequence[tuple[str, Any]] | None, *, holes: int = 0
) -> LoggedRecord:
    """Convert a delivered message. A message without the headers of Headwater is an event from another sender."""
    found = dict(headers or ())
    kind = _KINDS.get(found.get("k") or b"", RecordKind.EVENT)
    http = (found.get("h") or b"{}").decode("utf-8", "replace")
    return LoggedRecord(sequence_of(offset), timestamp_ms * 1000, kind, http, value or b"", holes)
