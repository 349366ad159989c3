"""Erase records from the local log, and the large bodies next to it.

A record keeps its sequence number, because a hole in the log would look like a loss.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from headwater.intake.event_log import RecordKind
from headwater.intake.event_log.body_packing import pack
from headwater.intake.event_log.segment_faults import using
from headwater.intake.event_log.segments import PACKED_SINCE, format_of, open_readonly, open_writable, segment_files
from headwater.operations.erasure.forget_targets import ForgetTarget, value_of
from headwater.operations.erasure.searching import LogRow, is_in_record, log_row

_ERASED = b'{"erased":"headwater forget"}'
_REFUSAL_FIELDS = ("key", "field", "message", "user_agent")


def count_in_log(log: Path, claims: Path, target: ForgetTarget) -> tuple[int, int]:
    """Count the matching records and large bodies."""
    bodies = _claims_with(claims, target)
    records = 0
    for path in segment_files(log):
        with using(path), closing(open_readonly(path)) as connection:
            records += sum(1 for _ in _matching(connection, target, bodies))
    return records, len(bodies)


def erase_in_log(log: Path, claims: Path, target: ForgetTarget) -> None:
    """Erase records from every segment, its free pages and its side files; then delete the large bodies.

    The log must not be open elsewhere. Repeating it does no harm. Raises LogUnavailable.
    """
    bodies = _claims_with(claims, target)
    for path in segment_files(log):
        with using(path), closing(open_writable(path)) as connection:
            packs = format_of(connection) >= PACKED_SINCE
            fresh = [_erased(row, packs) for row in _matching(connection, target, bodies)]
            connection.execute("PRAGMA secure_delete=1")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("UPDATE records SET kind = ?, http = '{}', body = ? WHERE sequence = ?", fresh)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for key in bodies:
        (claims / key).unlink(missing_ok=True)


def _claims_with(claims: Path, target: ForgetTarget) -> set[str]:
    paths = claims.iterdir() if claims.is_dir() else ()
    return {path.name for path in paths if target.in_value(value_of(path.read_bytes()))}


def _matching(connection: sqlite3.Connection, target: ForgetTarget, bodies: set[str]) -> Iterator[LogRow]:
    form = format_of(connection)
    for found in connection.execute("SELECT sequence, kind, http, body FROM records ORDER BY sequence"):
        row = log_row(found, form)
        is_of_claim = row[1] is RecordKind.CLAIM and row[3].decode("ascii", "replace") in bodies
        if is_of_claim or is_in_record(row, target):
            yield row


def _erased(row: LogRow, packs: bool) -> tuple[int, bytes, int]:
    """Return kind, body and sequence of the replacement of a record; refusal counts are kept."""
    sequence, kind, _, body = row
    if kind is RecordKind.REFUSAL:
        note = {**json.loads(body), **dict.fromkeys(_REFUSAL_FIELDS)}
        return kind, json.dumps(note).encode(), sequence
    return RecordKind.EVENT, pack(_ERASED) if packs else _ERASED, sequence
