"""The laptop's event log, reading side: read-only beside the writer, across segments."""

import contextlib
import sqlite3
from pathlib import Path

from headwater.errors import LogUnavailable
from headwater.eventlog import Kind, LoggedRecord
from headwater.eventlog.segments import (
    PARTITION,
    Header,
    claim_keys,
    first_event_us,
    last_sequence,
    open_readonly,
    read_header,
    refusals_between,
    segment_files,
)
from headwater.events.position import Source


class SqliteLogReader:
    """Reads a log folder that another process may be writing. Not for two threads at once."""

    def __init__(self, folder: Path):
        """Open nothing yet: connections follow the segments as they come and go."""
        self._folder = folder.resolve()
        self._open: dict[Path, tuple[sqlite3.Connection, Header]] = {}

    @property
    def source(self) -> Source:
        """Name of the log, incarnation and partition; raises LogUnavailable while no log is there."""
        return Source("local", self._newest()[1].incarnation, PARTITION)

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records behind `after`, at most `limit` and about `max_bytes`; the first may leave a gap."""
        found: list[LoggedRecord] = []
        files = self._segments()
        for path, following in zip(files, [*files[1:], None], strict=True):
            if following and int(following.stem) <= after + 1:
                continue
            opened = self._connection(path)
            if opened:
                found += _read(opened[0], after, limit - len(found), max_bytes)
            if len(found) >= limit or sum(len(record.body) for record in found) >= max_bytes:
                break
        return found

    def read_between(self, after: int, before: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records between two sequences, neither included, at most `limit` and about `max_bytes`."""
        found = self.read(after, limit=min(limit, before - 1 - after), max_bytes=max_bytes)
        return [record for record in found if record.sequence < before]

    def lost(self, after: int) -> int:
        """Return the newest sequence if there are some behind `after` and retention took them all, else 0."""
        tail = self.tail()  # before the look: what comes after it is not lost
        return 0 if tail <= after or self.read(after, limit=1, max_bytes=1) else tail

    def tail(self) -> int:
        """Return the newest sequence number, 0 for a log that never held a record."""
        return last_sequence(*self._newest())

    def head(self) -> int:
        """Return the oldest sequence number still kept."""
        return int(self._segments()[0].stem)

    def pending(self, passed: int) -> int:
        """Count the events behind sequence `passed`, notes of refusals left out."""
        tail = self.tail()
        segments = [opened for path in self._segments() if (opened := self._connection(path))]
        notes = sum(refusals_between(connection, passed, tail) for connection, _ in segments)
        return max(0, tail - passed - notes)

    def received_us(self, sequence: int) -> int | None:
        """Return when the first event from `sequence` on was received (us, UTC), None if there is none."""
        opened = (self._connection(path) for path in self._segments())
        found = (first_event_us(pair[0], sequence) for pair in opened if pair)
        return next((received_us for received_us in found if received_us is not None), None)

    def claims(self) -> list[bytes]:
        """List the keys of large bodies that records still kept stand for."""
        opened = [self._connection(path) for path in self._segments()]
        return [key for pair in opened if pair for key in claim_keys(pair[0])]

    def size_bytes(self) -> int:
        """Return the bytes of all segments on disk."""
        return sum(path.stat().st_size for path in self._folder.glob("*.sqlite*"))

    def close(self) -> None:
        """Close every connection."""
        for connection, _ in self._open.values():
            connection.close()
        self._open.clear()

    def _newest(self) -> tuple[sqlite3.Connection, Header]:
        for path in reversed(self._segments()):
            if opened := self._connection(path):
                return opened
        raise LogUnavailable(f"No event log at {self._folder} yet. Start `headwater up` with this data folder.")

    def _segments(self) -> list[Path]:
        files = segment_files(self._folder)
        for gone in self._open.keys() - set(files):
            self._open.pop(gone)[0].close()
        return files

    def _connection(self, path: Path) -> tuple[sqlite3.Connection, Header] | None:
        """Open a segment once; None while its writer has not finished creating it, or if retention took it."""
        if path not in self._open:
            try:
                connection = open_readonly(path)
                header = read_header(connection)
            except sqlite3.OperationalError as error:
                if not path.exists() or "locked" in str(error):
                    return None
                raise LogUnavailable(f"Cannot read the log segment {path}: {error}. Restore it.") from error
            if header is None:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
                return None
            self._open[path] = (connection, header)
        return self._open[path]


def _read(connection: sqlite3.Connection, after: int, limit: int, max_bytes: int) -> list[LoggedRecord]:
    found, size = [], 0
    query = "SELECT sequence, received_us, kind, http, body FROM records WHERE sequence > ? ORDER BY sequence LIMIT ?"
    try:
        rows = connection.execute(query, (after, limit))
        for sequence, received_us, kind, http, body in rows:
            found.append(LoggedRecord(sequence, received_us, Kind(kind), http, body))
            size += len(body)
            if size >= max_bytes:
                break
        rows.close()  # ends the read transaction, so that the writer's checkpoints may pass it
    except sqlite3.Error as error:
        raise LogUnavailable(f"Cannot read the event log: {error}. It is tried again.") from error
    return found
