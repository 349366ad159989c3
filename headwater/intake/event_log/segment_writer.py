"""Writes groups of records to the newest segment, begins new segments, and deletes old ones."""

import itertools
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from headwater.common.failpoints import reach_failpoint
from headwater.common.resources import close_on_error
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.body_packing import compress_body
from headwater.intake.event_log.segment_faults import misplaced_error, segment_error, segment_errors
from headwater.intake.event_log.segments import (
    FORMAT,
    PAGE_BYTES,
    SegmentHeader,
    claim_keys,
    create_segment,
    device_and_inode,
    format_of,
    last_sequence,
    new_epoch,
    open_readonly,
    open_writable,
    read_header,
    remove_segment,
    segment_file_paths,
    segment_files,
    segment_path,
)

CHECKPOINT_BYTES = 2 << 20  # larger: visible pauses at p99; smaller: more CPU

_Row = tuple[int, int, int, str, bytes]
_CHUNKS = (64, 16, 4, 1)  # rows per INSERT: each statement releases the interpreter lock once
_INSERT = {rows: "INSERT INTO records VALUES " + ",".join(["(?,?,?,?,?)"] * rows) for rows in _CHUNKS}


class SegmentWriter:
    """Writes to a log folder over one connection, in one thread.

    All methods may raise LogUnavailable. After that, it is unknown which records reached the disk; a new writer reads
    them from the files.
    """

    _connection: sqlite3.Connection
    _path: Path
    header: SegmentHeader
    _next: int
    _last_us: int
    _segment_bytes: int
    _files: list[tuple[str, tuple[int, int] | None]]

    def __init__(self, folder: Path, segment_bytes: int):
        """Open the newest segment, or create the first segment.

        Raises WrongSetting if a newer version wrote the segment.
        """
        self._folder = folder
        self._limit = segment_bytes
        self._unchecked_bytes = 0
        self._open_newest()

    def write(self, records: Sequence[Record]) -> None:
        """Commit records durably, as one group."""
        if not records:
            return  # keeps the time of the newest record
        now = max(self._last_us, time.time_ns() // 1000)
        values = [
            (sequence, now, int(record.kind), record.http, _stored_body(record))
            for sequence, record in enumerate(records, self._next)
        ]
        try:
            self._insert_rows(values)
        except (sqlite3.Error, OSError) as error:
            raise segment_error(self._path, error) from error
        self.check_in_place()
        self._next += len(records)
        self._last_us = now
        size = sum(len(row[4]) for row in values)
        self._unchecked_bytes += size + PAGE_BYTES  # a commit of one small record writes a whole page
        self._segment_bytes += size

    @property
    def newest_sequence_and_time(self) -> tuple[int, int]:
        """Sequence number and time of receipt (us) of the newest record. The time is 0 if the segment is empty."""
        return self._next - 1, self._last_us

    def received_us(self, sequence: int) -> int | None:
        """Return when a record of the newest segment was received (us, UTC).

        Returns None if the segment lacks this record.
        """
        with segment_errors(self._path):
            row = self._connection.execute("SELECT received_us FROM records WHERE sequence = ?", (sequence,)).fetchone()
        return row[0] if row else None

    def check_in_place(self) -> None:
        """Raise LogUnavailable unless the paths of the segment still refer to the open files. Thread-safe.

        Without this check, commits would succeed in a deleted file, and its content would be lost when the file is
        closed.
        """
        for part, found in self._files:
            if device_and_inode(part) != found:
                raise misplaced_error(self._path)

    def roll_or_checkpoint(self) -> None:
        """Begin a new segment if the current one is full; otherwise checkpoint a long write-ahead log.

        Call between groups.
        """
        with segment_errors(self._path):
            if (
                self._segment_bytes > self._limit and self._next > self.header.first_sequence
            ):  # the next one would have the same name
                self._begin_segment()
            elif self._unchecked_bytes > CHECKPOINT_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                self._unchecked_bytes = 0

    def delete_old_segments(
        self, parsed_sequence: int, older_than_us: float, keep_bytes: int, delete_claim: Callable[[bytes], None]
    ) -> None:
        """Delete segments with no record after `parsed_sequence`, if they are too old or the log is too large.

        older_than_us: delete segments that were last written before this time (us). keep_bytes: delete the oldest
        segments while the log is larger than this. delete_claim: called with the key of each claim to which a deleted
        record refers.
        Raises LogUnavailable at the first unreadable segment; this segment and all later segments stay.
        """
        files = segment_files(self._folder)
        with segment_errors(self._folder):
            total = sum(path.stat().st_size for path in files)
        for path, following in itertools.pairwise(files):
            with segment_errors(path):
                found = path.stat()
                too_old = found.st_mtime * 1e6 < older_than_us
                if int(following.stem) - 1 > parsed_sequence or not (too_old or total > keep_bytes):
                    return
                total -= found.st_size
                for key in _claim_keys_of(path):
                    delete_claim(key)
                remove_segment(path)

    def close(self) -> None:
        """Close the newest segment."""
        self._connection.close()

    def _insert_rows(self, values: list[_Row]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for rows in _split_into_commits(values):
            self._connection.execute(_INSERT[len(rows)], [cell for row in rows for cell in row])
        reach_failpoint("log.before_sync")
        self._connection.execute("COMMIT")
        reach_failpoint("log.after_sync")

    def _begin_segment(self) -> None:
        header = SegmentHeader(self.header.epoch, self._next)
        with closing(self._connection) as old:
            self._use_segment(create_segment(self._folder, header), header, self._last_us)
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _open_newest(self) -> None:
        for path in reversed(segment_files(self._folder)):
            with segment_errors(path), close_on_error(open_writable(path)) as connection:
                header = read_header(connection)
                if header:
                    self._use_segment(connection, header, _last_received_us(connection))
                    self._begin_segment_after_older_format()
                    return
                connection.close()  # its creation was interrupted, so it never had a record
                remove_segment(path)
        header = SegmentHeader(new_epoch(), 1)
        with segment_errors(self._folder):
            self._use_segment(create_segment(self._folder, header), header, 0)

    def _begin_segment_after_older_format(self) -> None:
        """Begin a segment of the current format if the newest segment has an older format.

        A segment without records changes its format instead.
        """
        if format_of(self._connection) == FORMAT:
            return
        if self._next > self.header.first_sequence:
            self._begin_segment()
        else:
            self._connection.execute("UPDATE header SET format = ?", (FORMAT,))

    def _use_segment(self, connection: sqlite3.Connection, header: SegmentHeader, last_us: int) -> None:
        with close_on_error(connection):
            self._next = last_sequence(connection, header) + 1
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            self._segment_bytes = pages * connection.execute("PRAGMA page_size").fetchone()[0]
        self._path, self._connection, self.header = segment_path(self._folder, header), connection, header
        self._files = [
            (part, device_and_inode(part)) for part in segment_file_paths(self._path)[:2]
        ]  # commits write only these
        self._last_us = last_us
        self._unchecked_bytes = 0


def _stored_body(record: Record) -> bytes:
    """Return the body as it is stored. Events are compressed; keys of claims are not, because SQL queries read them."""
    return compress_body(record.body) if record.kind is RecordKind.EVENT else record.body


def _last_received_us(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT received_us FROM records ORDER BY sequence DESC LIMIT 1").fetchone()
    if row and not isinstance(row[0], int):  # a damaged row may have another type
        raise ValueError("the time of receipt of its newest record is not a number")
    return row[0] if row else 0


def _claim_keys_of(path: Path) -> list[bytes]:
    """List the keys of claims in a closed segment. Does not wait for locks, because waiting would block the writer."""
    with closing(open_readonly(path, wait_s=0)) as connection:
        return claim_keys(connection)


def _split_into_commits(values: list[_Row]) -> list[list[_Row]]:
    chunks, start = [], 0
    for size in _CHUNKS:
        while len(values) - start >= size:
            chunks.append(values[start : start + size])
            start += size
    return chunks
