"""The format of records in a Kafka topic: the body as value, kind and request metadata as headers `k` and `h`.

Kafka counts from 0, Headwater from 1 (0 means no record), so our sequence of a record is the offset of the next one.
Only this module converts between the two.
"""

from collections.abc import Sequence
from typing import Any

from headwater.intake.event_log import LoggedRecord, Record, RecordKind

_KINDS = {str(kind.value).encode(): kind for kind in RecordKind}


def sequence_of(offset: int) -> int:
    """Convert an offset to our sequence."""
    return offset + 1


def offset_after(sequence: int) -> int:
    """Return the offset of the record after our sequence."""
    return sequence


def headers_of(record: Record) -> list[tuple[str, str | bytes | None]]:
    """Return the headers of a record."""
    return [("k", b"%d" % record.kind), ("h", record.http.encode())]


def logged_record(
    offset: int, timestamp_ms: int, value: bytes | None, headers: Sequence[tuple[str, Any]] | None, *, holes: int = 0
) -> LoggedRecord:
    """Convert a delivered message. A message without our headers is an event from another sender."""
    found = dict(headers or ())
    kind = _KINDS.get(found.get("k") or b"", RecordKind.EVENT)
    http = (found.get("h") or b"{}").decode("utf-8", "replace")
    return LoggedRecord(sequence_of(offset), timestamp_ms * 1000, kind, http, value or b"", holes)
