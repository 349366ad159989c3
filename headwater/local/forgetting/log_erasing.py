"""Out of the log on our own disk, and the large bodies beside it.

A record keeps its sequence number, or the log would have a hole that nobody can tell from a loss.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from headwater.eventlog import RecordKind
from headwater.eventlog.body_packing import pack
from headwater.eventlog.segment_faults import using
from headwater.eventlog.segments import PACKED_SINCE, format_of, open_readonly, open_writable, segment_files
from headwater.local.forgetting.searching import LogRow, is_in_record, log_row
from headwater.local.forgetting.wanted import Wanted, value_of

_ERASED = b'{"erased":"headwater forget"}'
_SAID_OF_REFUSED = ("key", "field", "message", "user_agent")


def count_in_log(log: Path, claims: Path, wanted: Wanted) -> tuple[int, int]:
    """Count the records and the large bodies that say what is wanted."""
    bodies = _claims_with(claims, wanted)
    records = 0
    for path in segment_files(log):
        with using(path), closing(open_readonly(path)) as connection:
            records += sum(1 for _ in _matching(connection, wanted, bodies))
    return records, len(bodies)


def erase_in_log(log: Path, claims: Path, wanted: Wanted) -> None:
    """Take them out of every segment, its free pages and its side files; then the large bodies go.

    Nobody may have the log open. A second time does no harm. Raises LogUnavailable.
    """
    bodies = _claims_with(claims, wanted)
    for path in segment_files(log):
        with using(path), closing(open_writable(path)) as connection:
            packs = format_of(connection) >= PACKED_SINCE
            fresh = [_erased(row, packs) for row in _matching(connection, wanted, bodies)]
            connection.execute("PRAGMA secure_delete=1")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("UPDATE records SET kind = ?, http = '{}', body = ? WHERE sequence = ?", fresh)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for key in bodies:
        (claims / key).unlink(missing_ok=True)


def _claims_with(claims: Path, wanted: Wanted) -> set[str]:
    paths = claims.iterdir() if claims.is_dir() else ()
    return {path.name for path in paths if wanted.in_value(value_of(path.read_bytes()))}


def _matching(connection: sqlite3.Connection, wanted: Wanted, bodies: set[str]) -> Iterator[LogRow]:
    form = format_of(connection)
    for found in connection.execute("SELECT sequence, kind, http, body FROM records ORDER BY sequence"):
        row = log_row(found, form)
        is_of_claim = row[1] is RecordKind.CLAIM and row[3].decode("ascii", "replace") in bodies
        if is_of_claim or is_in_record(row, wanted):
            yield row


def _erased(row: LogRow, packs: bool) -> tuple[int, bytes, int]:
    """Return kind, body and sequence of what takes a record's place; a note of refusals goes on to count."""
    sequence, kind, _, body = row
    if kind is RecordKind.REFUSAL:
        note = {**json.loads(body), **dict.fromkeys(_SAID_OF_REFUSED)}
        return kind, json.dumps(note).encode(), sequence
    return RecordKind.EVENT, pack(_ERASED) if packs else _ERASED, sequence
