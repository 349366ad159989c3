"""Records as a Kafka topic holds them: the body as value, kind and request metadata as headers `k` and `h`.

Kafka counts from 0, Headwater from 1 (0 means: nothing yet), so our sequence of a record is also the offset behind it.
Only this module knows both.
"""

from collections.abc import Sequence
from typing import Any

from headwater.eventlog import LoggedRecord, Record, RecordKind

_KINDS = {str(kind.value).encode(): kind for kind in RecordKind}


def sequence_of(offset: int) -> int:
    """Return our sequence of the record at an offset."""
    return offset + 1


def offset_behind(sequence: int) -> int:
    """Return the offset from which a topic delivers what stands behind our sequence."""
    return sequence


def headers_of(record: Record) -> list[tuple[str, str | bytes | None]]:
    """Return the headers of a record."""
    return [("k", b"%d" % record.kind), ("h", record.http.encode())]


def logged_record(
    offset: int, timestamp_ms: int, value: bytes | None, headers: Sequence[tuple[str, Any]] | None, *, holes: int = 0
) -> LoggedRecord:
    """Return the record that a topic delivered; what came without our headers is an event somebody else put there."""
    found = dict(headers or ())
    kind = _KINDS.get(found.get("k") or b"", RecordKind.EVENT)
    http = (found.get("h") or b"{}").decode("utf-8", "replace")
    return LoggedRecord(sequence_of(offset), timestamp_ms * 1000, kind, http, value or b"", holes)
