"""The newest segment: groups of records go in, whole segments follow each other, passed ones go."""

import itertools
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from headwater.eventlog import Record, RecordKind
from headwater.eventlog.body_packing import pack
from headwater.eventlog.segment_faults import misplaced, unusable, using
from headwater.eventlog.segments import (
    FORMAT,
    PAGE_BYTES,
    Header,
    claim_keys,
    create_segment,
    format_of,
    identity,
    last_sequence,
    new_epoch,
    open_readonly,
    open_writable,
    parts,
    read_header,
    remove_segment,
    segment_files,
    segment_path,
)
from headwater.failpoints import reach
from headwater.opening import or_closed

CHECKPOINT_BYTES = 2 << 20  # a longer pause would be seen at p99, more of them in CPU

_Row = tuple[int, int, int, str, bytes]
_CHUNKS = (64, 16, 4, 1)  # rows in one INSERT: each statement hands the interpreter over once
_INSERT = {rows: "INSERT INTO records VALUES " + ",".join(["(?,?,?,?,?)"] * rows) for rows in _CHUNKS}


class SegmentWriter:
    """Writes a log folder with one connection; used by one thread.

    All methods raise LogUnavailable; then nobody knows what reached the disk, and only another writer can tell.
    """

    _connection: sqlite3.Connection
    _path: Path
    header: Header
    _next: int
    _last_us: int
    _segment_bytes: int
    _files: list[tuple[str, tuple[int, int] | None]]

    def __init__(self, folder: Path, segment_bytes: int):
        """Open the newest segment, or create the first. Raises WrongSetting for a newer format."""
        self._folder = folder
        self._limit = segment_bytes
        self._unchecked_bytes = 0
        self._open_newest()

    def write(self, records: Sequence[Record]) -> None:
        """Commit records as one group; they are on disk when this returns."""
        if not records:
            return  # the time of the newest record stays what it is
        now = max(self._last_us, time.time_ns() // 1000)
        values = [
            (sequence, now, int(record.kind), record.http, _stored(record))
            for sequence, record in enumerate(records, self._next)
        ]
        try:
            self._insert(values)
        except (sqlite3.Error, OSError) as error:
            raise unusable(self._path, error) from error
        self.check_in_place()
        self._next += len(records)
        self._last_us = now
        size = sum(len(row[4]) for row in values)
        self._unchecked_bytes += size + PAGE_BYTES  # a commit of one small record writes a whole page
        self._segment_bytes += size

    @property
    def newest(self) -> tuple[int, int]:
        """The sequence number of the newest record and when it was received (us, 0 where no open segment tells)."""
        return self._next - 1, self._last_us

    def received_us(self, sequence: int) -> int | None:
        """Return when a record of the newest segment was received (us, UTC), None if it is not in there."""
        with using(self._path):
            row = self._connection.execute("SELECT received_us FROM records WHERE sequence = ?", (sequence,)).fetchone()
        return row[0] if row else None

    def check_in_place(self) -> None:
        """Raise LogUnavailable unless the paths lead to the files that are open; from any thread.

        Commits go into an open file wherever it went: into one that was deleted, too, which ends with its last user.
        """
        for part, found in self._files:
            if identity(part) != found:
                raise misplaced(self._path)

    def tidy(self) -> None:
        """Between two groups: begin a new segment if this one is full, else keep its write-ahead log short."""
        with using(self._path):
            if (
                self._segment_bytes > self._limit and self._next > self.header.first_sequence
            ):  # an empty one has its place
                self._roll()
            elif self._unchecked_bytes > CHECKPOINT_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                self._unchecked_bytes = 0

    def retain(self, passed: int, older_than_us: float, keep_bytes: int, forget: Callable[[bytes], None]) -> None:
        """Delete whole segments up to sequence `passed` that are too old, or the oldest while there is too much.

        forget: called with the key of each large body whose record goes.
        Raises LogUnavailable at the first segment that cannot be read: it stays, and so do all behind it.
        """
        files = segment_files(self._folder)
        with using(self._folder):
            total = sum(path.stat().st_size for path in files)
        for path, following in itertools.pairwise(files):
            with using(path):
                found = path.stat()
                too_old = found.st_mtime * 1e6 < older_than_us
                if int(following.stem) - 1 > passed or not (too_old or total > keep_bytes):
                    return
                total -= found.st_size
                for key in _claims_of(path):
                    forget(key)
                remove_segment(path)

    def close(self) -> None:
        """Close the newest segment."""
        self._connection.close()

    def _insert(self, values: list[_Row]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for rows in _chunks(values):
            self._connection.execute(_INSERT[len(rows)], [cell for row in rows for cell in row])
        reach("log.before_sync")
        self._connection.execute("COMMIT")
        reach("log.after_sync")

    def _roll(self) -> None:
        header = Header(self.header.epoch, self._next)
        with closing(self._connection) as old:
            self._use(create_segment(self._folder, header), header, self._last_us)
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _open_newest(self) -> None:
        for path in reversed(segment_files(self._folder)):
            with using(path), or_closed(open_writable(path)) as connection:
                header = read_header(connection)
                if header:
                    self._use(connection, header, _last_received_us(connection))
                    self._leave_older_format()
                    return
                connection.close()  # its creation was cut off: it never held a record
                remove_segment(path)
        header = Header(new_epoch(), 1)
        with using(self._folder):
            self._use(create_segment(self._folder, header), header, 0)

    def _leave_older_format(self) -> None:
        """Begin a segment of today's format: records of two formats never share one, unless the older held none."""
        if format_of(self._connection) == FORMAT:
            return
        if self._next > self.header.first_sequence:
            self._roll()
        else:
            self._connection.execute("UPDATE header SET format = ?", (FORMAT,))

    def _use(self, connection: sqlite3.Connection, header: Header, last_us: int) -> None:
        with or_closed(connection):
            self._next = last_sequence(connection, header) + 1
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            self._segment_bytes = pages * connection.execute("PRAGMA page_size").fetchone()[0]
        self._path, self._connection, self.header = segment_path(self._folder, header), connection, header
        self._files = [(part, identity(part)) for part in parts(self._path)[:2]]  # who commits writes no other
        self._last_us = last_us
        self._unchecked_bytes = 0


def _stored(record: Record) -> bytes:
    """Return the body as it is kept: keys of claims stay as they are, which queries read."""
    return pack(record.body) if record.kind is RecordKind.EVENT else record.body


def _last_received_us(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT received_us FROM records ORDER BY sequence DESC LIMIT 1").fetchone()
    if row and not isinstance(row[0], int):  # a harmed row is not of the type of its column
        raise ValueError("when its newest record was received is no time")
    return row[0] if row else 0


def _claims_of(path: Path) -> list[bytes]:
    """List a closed segment's large bodies; who has it locked must not hold up the writer."""
    with closing(open_readonly(path, wait_s=0)) as connection:
        return claim_keys(connection)


def _chunks(values: list[_Row]) -> list[list[_Row]]:
    chunks, start = [], 0
    for size in _CHUNKS:
        while len(values) - start >= size:
            chunks.append(values[start : start + size])
            start += size
    return chunks
