"""Reads the local log across its segments, while another process may write it.

The reader checks the write-ahead log of a segment. Otherwise damage would go unnoticed: SQLite ignores a frame with a
wrong checksum and all later frames without an error, as if their records had never been written. File format:
https://www.sqlite.org/walformat.html
"""

import sqlite3
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeVar

from headwater.common.errors import LogDamaged, LogMissing, LogUnavailable
from headwater.common.resources import close_on_error
from headwater.events.position import Source
from headwater.intake.event_log import LoggedRecord, RecordKind
from headwater.intake.event_log.acknowledged import read_count_file
from headwater.intake.event_log.body_packing import decompress_body
from headwater.intake.event_log.segment_faults import (
    FAULTS,
    NO_HEADER,
    damaged_error,
    is_missing_file,
    missing_log_error,
    segment_error,
)
from headwater.intake.event_log.segments import (
    PACKED_SINCE,
    PARTITION,
    SegmentHeader,
    claim_keys,
    count_events_after,
    device_and_inode,
    find_page_damage,
    first_and_last_sequence,
    first_received_us,
    last_sequence,
    open_readonly,
    read_header,
    segment_files,
)

_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoints, two salts, two checksums
_FRAME = struct.Struct(">6I")  # page, pages after a commit, two salts, two checksums
_NEWEST_FRAME = 16
"""Byte offset in the `-shm` file of the number of valid frames, which has native byte order."""


def check_wal_frames(segment: Path) -> None:
    """Raise LogDamaged if SQLite ignored frames of the segment's `-wal` file.

    Call it only if acknowledged records are missing, because a power cut may also leave frames of an unfinished commit.
    The segment must be open, because SQLite counts the valid frames when it opens the segment.
    """
    wal = Path(f"{segment}-wal")
    try:
        ignored = _count_ignored_frames(wal, Path(f"{segment}-shm"))
    except FileNotFoundError:
        return
    if ignored:
        raise LogDamaged(
            f"The file {wal} is damaged: SQLite ignores {ignored} of its pages, because a checksum does not match. "
            "Acknowledged records in them cannot be read. Headwater acknowledges nothing until the file is restored. "
            "Stop Headwater and restore the file from a copy. Without a copy, run `headwater log new-epoch`; "
            "`headwater audit` lists the lost records."
        )


def _count_ignored_frames(wal: Path, shm: Path) -> int:
    """Count the frames after the last valid one that belong to the current generation of the file."""
    with wal.open("rb") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return 0
        magic, _, page_bytes, _, *salts = _HEADER.unpack(header)[:6]
        frame_bytes = _FRAME.size + page_bytes
        frames = (wal.stat().st_size - _HEADER.size) // frame_bytes if 512 <= page_bytes <= 65536 else 0
        if not _is_valid_wal_header(header, magic):
            return max(1, frames)
        valid = int.from_bytes(shm.read_bytes()[_NEWEST_FRAME : _NEWEST_FRAME + 4], sys.byteorder)
        found = 0
        for frame in range(valid, frames):
            file.seek(_HEADER.size + frame * frame_bytes)
            _, _, first, second, *_ = _FRAME.unpack(file.read(_FRAME.size))
            found += first == salts[0] or second == salts[1]  # frames of an earlier generation have other salts
        return found


def _is_valid_wal_header(header: bytes, magic: int) -> bool:
    """Whether the checksum of the header is correct."""
    words = struct.unpack(f"{'>' if magic & 1 else '<'}6I", header[:24])
    first = second = 0
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return (first, second) == struct.unpack(">2I", header[24:])


T = TypeVar("T")

KEPT_OPEN = 2
"""Maximum number of open segments per reader: usually the segment that it reads, and the newest.

Each uses three file descriptors.
"""

_YEAR_10000_US = 253_402_300_800_000_000
"""Tables cannot store later times, so a row with a later time is damaged."""

_RECORDS = (
    "SELECT sequence, received_us, kind, http, body, (SELECT format FROM header) "  # an empty one may change its format
    "FROM records WHERE sequence > ? ORDER BY sequence LIMIT ?"
)


class _OpenSegment(NamedTuple):
    """An open segment. identity: device and inode of its file, or None."""

    connection: sqlite3.Connection
    header: SegmentHeader
    identity: tuple[int, int] | None


class SqliteLogReader:
    """Reads a log folder while another process may write it. Not thread-safe.

    A method that needs a locked or damaged segment raises LogUnavailable.
    """

    def __init__(self, folder: Path):
        """Create a reader without open files. Methods open segments as needed."""
        self._folder = folder.resolve()
        self._open: dict[Path, _OpenSegment] = {}  # the latest used last

    @property
    def source(self) -> Source:
        """The name of the log, the epoch of the log, and the partition.

        Raises LogUnavailable if there was never a log.
        """
        count = None if self._segments() else read_count_file(self._folder)
        epoch = count.epoch if count else self._query_newest_segment(lambda _, header: header.epoch)
        return self.in_epoch(epoch)

    def in_epoch(self, epoch: str) -> Source:
        """Return the source of this partition in another epoch of the log."""
        return Source("local", epoch, PARTITION)

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records after sequence `after`: at most `limit`, and about `max_bytes` of bodies.

        The sequence of the first record is larger than `after` + 1 if the log has lost records.
        """
        found: list[LoggedRecord] = []
        size = 0
        for path in self._segments_after(after):
            reading = _SegmentRead(path, after, limit - len(found), max_bytes - size)
            found += self._query_segment(path, reading.read_records) or []
            size = sum(len(record.body) for record in found)
            if len(found) >= limit or size >= max_bytes:
                break
        return found

    def read_between(self, after: int, before: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records between two sequences, exclusive: at most `limit`, and about `max_bytes` of bodies."""
        found = self.read(after, limit=min(limit, before - 1 - after), max_bytes=max_bytes)
        return [record for record in found if record.sequence < before]

    def lost_up_to(self, after: int) -> int:
        """Return the newest sequence if retention has deleted all records after `after`, else 0."""
        tail = self.tail()  # read first, so that records appended meanwhile do not count as lost
        return 0 if tail <= after or self.read(after, limit=1, max_bytes=1) else tail

    def record_at(self, sequence: int) -> LoggedRecord | None:
        """Return the record with this sequence, or None if the log does not have it."""
        return next(iter(self.read_between(sequence - 1, sequence + 1, limit=1, max_bytes=1)), None)

    def acknowledged(self) -> int:
        """Return the newest acknowledged sequence of this epoch by the count file; 0 if that has another epoch."""
        count = read_count_file(self._folder)
        return count.sequence if count and count.epoch == self.source.epoch else 0

    def missing_ranges(self, epoch_source: Source, passed: int, acknowledged: int) -> list[tuple[int, int]]:
        """List the ranges (first, last) of sequences after `passed` that were acknowledged but are in no segment."""
        count = read_count_file(self._folder)  # read first, so that records appended meanwhile do not count as missing
        if count and count.epoch == epoch_source.epoch:
            acknowledged = max(acknowledged, count.sequence)
        is_there = bool(self._segments()) and self.source.epoch == epoch_source.epoch
        found, following = [], passed + 1
        for first, last in [*(self._stored_ranges(passed) if is_there else ()), (acknowledged + 1, 0)]:
            if first > following:
                found.append((following, first - 1))
            following = max(following, last + 1)
        return found

    def tail(self) -> int:
        """Return the newest sequence number, or 0 for a log that never had a record.

        Raises LogDamaged if acknowledged records are missing because the newest segment's `-wal` file is damaged.
        """
        count = read_count_file(self._folder)  # read first, because the count is never ahead of the log
        found = self._query_newest_segment(last_sequence)
        if count and found < count.sequence and count.epoch == self.source.epoch:
            check_wal_frames(self._segments()[-1])
        return found

    def head(self) -> int:
        """Return the oldest stored sequence number."""
        return int(self._segments()[0].stem)

    def pending(self, passed: int) -> int:
        """Count the events after sequence `passed`, without records of refused requests."""
        found = [
            self._query_segment(path, lambda connection, _: count_events_after(connection, passed))
            for path in self._segments_after(passed)
        ]
        return sum(filter(None, found))

    def received_us(self, sequence: int) -> int | None:
        """Return when the first event with this or a later sequence was received (us, UTC); None if there is none."""
        paths = self._segments_after(sequence - 1)
        found = (
            self._query_segment(path, lambda connection, _: first_received_us(connection, sequence)) for path in paths
        )
        return next((received_us for received_us in found if received_us is not None), None)

    def referenced_claim_keys(self) -> list[bytes]:
        """List the keys of all claims to which stored records refer."""
        found = [
            self._query_segment(path, lambda connection, _: claim_keys(connection)) for path in self._segments_after(0)
        ]
        return [key for keys in found for key in keys or []]

    def has_segment(self) -> bool:
        """Whether there is a complete segment. Raises LogUnavailable if one is unreadable."""
        return any(self._query_segment(path, lambda *_: True) for path in self._segments())

    def size_bytes(self) -> int:
        """Return the bytes of all segments on disk."""
        return sum(path.stat().st_size for path in self._folder.glob("*.sqlite*"))

    def close(self) -> None:
        """Close every connection."""
        for path in list(self._open):
            self._close_segment(path)

    def _segments(self) -> list[Path]:
        files = segment_files(self._folder)
        for gone in self._open.keys() - set(files):
            self._close_segment(gone)
        return files

    def _segments_after(self, after: int) -> list[Path]:
        """List the segments that may have records after `after`."""
        files = self._segments()
        if not files:
            raise self._no_log_error()
        lasts = [int(path.stem) - 1 for path in files[1:]]
        return [path for path, end in zip(files, [*lasts, None], strict=True) if end is None or end > after]

    def _stored_ranges(self, after: int) -> list[tuple[int, int]]:
        """List the range (first, last) of the stored records of each segment that may have records after `after`.

        Within a segment no sequence is missing, because it has a single writer.
        """
        found = [
            self._query_segment(path, lambda connection, _: first_and_last_sequence(connection))
            for path in self._segments_after(after)
        ]
        return [each for each in found if each]

    def _query_newest_segment(self, query: Callable[[sqlite3.Connection, SegmentHeader], T]) -> T:
        for path in reversed(self._segments()):
            if (found := self._query_segment(path, query)) is not None:
                return found
        raise self._no_log_error()

    def _no_log_error(self) -> LogUnavailable:
        if count := read_count_file(self._folder):
            return missing_log_error(self._folder, count.sequence)
        return LogMissing(f"There is no event log at {self._folder} yet. Start `headwater up` with this data folder.")

    def _query_segment(self, path: Path, query: Callable[[sqlite3.Connection, SegmentHeader], T]) -> T | None:
        """Query one segment. Returns None if retention deleted the segment, or if its creation is not complete."""
        try:
            opened = self._already_open_segment(path) or self._open_segment(path)
            return query(opened.connection, opened.header) if opened else None
        except FAULTS as error:
            self._close_segment(path)  # a restored file is another file
            if is_missing_file(path):
                return None
            raise segment_error(path, error) from error

    def _already_open_segment(self, path: Path) -> "_OpenSegment | None":
        """Return a segment that is already open, unless its file was replaced."""
        opened = self._open.pop(path, None)
        if opened is None:
            return None
        self._open[path] = opened
        if device_and_inode(str(path)) == opened.identity:
            return opened
        self._close_segment(path)
        return None

    def _open_segment(self, path: Path) -> "_OpenSegment | None":
        found = device_and_inode(str(path))
        with close_on_error(open_readonly(path)) as connection:
            header = read_header(connection)
        if header:
            self._open[path] = _OpenSegment(connection, header, found)
            if len(self._open) > KEPT_OPEN:
                self._close_segment(next(iter(self._open)))
            return self._open[path]
        connection.close()
        if path in segment_files(self._folder)[:-1]:  # a segment is complete before the next one begins
            raise damaged_error(path, NO_HEADER)
        return None

    def _close_segment(self, path: Path) -> None:
        if opened := self._open.pop(path, None):
            opened.connection.close()


class _SegmentRead(NamedTuple):
    """A read of one segment: at most `limit` records after sequence `after`, and about `max_bytes` of bodies."""

    path: Path
    after: int
    limit: int
    max_bytes: int

    def read_records(self, connection: sqlite3.Connection, header: SegmentHeader) -> list[LoggedRecord]:
        """Read up to the first damaged record. Raises LogUnavailable if the first record is damaged.

        If a sequence is missing, the record was deleted or its pages are damaged. Therefore the pages are checked in
        this case.
        """
        found: list[LoggedRecord] = []
        following = max(self.after + 1, header.first_sequence)
        newest = last_sequence(
            connection, header
        )  # read first, so that records appended meanwhile do not count as missing
        try:
            for record in self._records(connection):
                if record.sequence != following and (what := find_page_damage(connection)):
                    raise ValueError(what)
                found.append(record)
                following = record.sequence + 1
        except FAULTS as error:
            if found:
                return found
            if isinstance(error, sqlite3.Error | OSError):
                raise
            raise damaged_error(self.path, f"record {following} cannot be read, {error}") from error
        if not found and following <= newest:
            raise damaged_error(self.path, f"record {following} is missing")
        return found

    def _records(self, connection: sqlite3.Connection) -> Iterator[LoggedRecord]:
        size = 0
        with closing(
            connection.execute(_RECORDS, (self.after, self.limit))
        ) as rows:  # an open statement blocks checkpoints
            for sequence, received_us, kind, http, stored, form in rows:
                if not 0 <= received_us < _YEAR_10000_US:
                    raise ValueError(f"its time of receipt is {received_us}")
                body = decompress_body(stored) if kind == RecordKind.EVENT and form >= PACKED_SINCE else stored
                yield LoggedRecord(sequence, received_us, RecordKind(kind), http, body)
                size += len(body)
                if size >= self.max_bytes:
                    break
