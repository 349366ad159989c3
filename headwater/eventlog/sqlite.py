"""The laptop's event log, writing side: one thread and one connection commit whole groups of requests.

While a commit waits for the disk, the next group gathers; so a busy log pays one fdatasync for many requests.
"""

import asyncio
import itertools
import shutil
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import LogUnavailable
from headwater.eventlog import Record
from headwater.eventlog.segments import (
    Header,
    claim_keys,
    create_segment,
    last_sequence,
    new_incarnation,
    open_writable,
    read_header,
    read_past,
    refusals_between,
    remove_segment,
    segment_files,
)
from headwater.failpoints import reach

GROUP_RECORDS = 512
GROUP_BYTES = 16 << 20
CHECKPOINT_BYTES = 4 << 20  # about 8 ms on the measured disk: a longer pause would be seen at p99
_Row = tuple[int, int, int, str, bytes]
_CHUNKS = (64, 16, 4, 1)  # rows in one INSERT: each statement hands the interpreter over once
_INSERT = {rows: "INSERT INTO records VALUES " + ",".join(["(?,?,?,?,?)"] * rows) for rows in _CHUNKS}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the log may use: bytes on disk and in memory."""

    segment_bytes: int = 256 << 20
    queued_bytes: int = 64 << 20
    min_free_bytes: int = 256 << 20


@dataclass(slots=True, eq=False)
class _Waiting:
    """One request that waits for its commit."""

    records: Sequence[Record]
    size: int
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]


class SqliteLog:
    """The one writer of a log folder. Open it once per folder; the caller holds the folder's lock."""

    _connection: sqlite3.Connection
    _header: Header
    _next: int
    _last_us: int
    _segment_bytes: int

    def __init__(self, folder: Path, limits: Limits = Limits(), *, on_remove: Callable[[bytes], None] | None = None):
        """Open or create the log.

        on_remove: called with the key of each claim whose record retention deletes.
        """
        self._folder = folder.resolve()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._limits = limits
        self._on_remove = on_remove
        self._queue: deque[_Waiting] = deque()
        self._queued_bytes = 0
        self._wake = threading.Condition()
        self._closing = False
        self._error: str | None = None
        self._free_checked = 0.0
        self._low_disk: str | None = None
        self._unchecked_bytes = 0
        self._retention: tuple[int, float, int] | None = None
        self._open_newest()
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    @property
    def incarnation(self) -> str:
        """The name of this log's life."""
        return self._header.incarnation

    async def append(self, records: Sequence[Record], key: str, *, timeout_s: float) -> None:  # noqa: ARG002 - one partition
        """Keep the records, all or none; return after fdatasync.

        Raises LogUnavailable: disk nearly full, over capacity, failing storage, or no answer within the timeout (the
        records may then still be stored: a repeated request is recognised by its event id).
        """
        loop = asyncio.get_running_loop()
        waiting = _Waiting(records, sum(len(r.body) for r in records), loop, loop.create_future())
        self._enqueue(waiting)
        timer = loop.call_later(timeout_s, _expire, waiting, timeout_s)
        try:
            await waiting.done
        finally:
            timer.cancel()

    def trouble(self) -> str | None:
        """Say why nothing can be acknowledged right now, or None."""
        if self._closing or not self._thread.is_alive():
            return "The log is closed. Start Headwater again."
        return self._disk_trouble() or self._error

    def request_retention(self, passed: int, older_than_us: float, keep_bytes: int) -> None:
        """Ask the writer to delete, soon, whole segments that the parser has passed and that are too old or too many.

        passed: newest sequence the lake holds; nothing behind it is ever deleted.
        """
        with self._wake:
            self._retention = (passed, older_than_us, keep_bytes)
            self._wake.notify()

    def close(self) -> None:
        """Commit what waits, then close; the folder can be opened again when this returns."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        self._connection.close()

    # The writer thread

    def _run(self) -> None:
        while True:
            group = self._next_group()
            if group:
                self._commit(group)
            elif self._closing:
                return
            self._tidy()

    def _next_group(self) -> list[_Waiting]:
        group: list[_Waiting] = []
        rows = size = 0
        with self._wake:
            while not (self._queue or self._closing or self._retention):
                self._wake.wait()
            while self._queue and rows < GROUP_RECORDS and size < GROUP_BYTES:
                waiting = self._queue.popleft()
                self._queued_bytes -= waiting.size
                if not waiting.done.done():
                    group.append(waiting)
                    rows += len(waiting.records)
                    size += waiting.size
        return group

    def _commit(self, group: list[_Waiting]) -> None:
        try:
            self._write([record for waiting in group for record in waiting.records])
            failure = None
        except (sqlite3.Error, OSError) as error:
            self._error = f"The event log at {self._folder} cannot be written: {error}. Free its disk or move --data."
            self._reopen()
            failure = LogUnavailable(self._error)
        else:
            self._error = None
        loop = group[0].loop
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, group, failure)

    def _write(self, records: Sequence[Record]) -> None:
        now = max(self._last_us, time.time_ns() // 1000)
        values = [
            (sequence, now, int(record.kind), record.http, record.body)
            for sequence, record in enumerate(records, self._next)
        ]
        self._connection.execute("BEGIN IMMEDIATE")
        for rows in _chunks(values):
            self._connection.execute(_INSERT[len(rows)], [cell for row in rows for cell in row])
        reach("log.before_sync")
        self._connection.execute("COMMIT")
        reach("log.after_sync")
        self._next += len(records)
        self._last_us = now
        self._unchecked_bytes += sum(len(record.body) for record in records)
        self._segment_bytes += sum(len(record.body) for record in records)

    def _tidy(self) -> None:
        try:
            if self._segment_bytes > self._limits.segment_bytes:
                self._roll()
            elif self._unchecked_bytes > CHECKPOINT_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                self._unchecked_bytes = 0
            if self._retention:
                self._retain(*self._retention)
        except (sqlite3.Error, OSError) as error:
            self._error = f"The event log at {self._folder} cannot be maintained: {error}. Free its disk."
        self._retention = None

    def _roll(self) -> None:
        refusals = self._header.refusals_before + refusals_between(self._connection, 0, self._next)
        header = Header(self._header.incarnation, self._next, refusals)
        old, past = self._connection, read_past(self._connection)
        self._connection = create_segment(self._folder, header, past)
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        old.close()
        self._header, self._segment_bytes, self._unchecked_bytes = header, 0, 0

    def _retain(self, passed: int, older_than_us: float, keep_bytes: int) -> None:
        files = segment_files(self._folder)
        total = sum(path.stat().st_size for path in files)
        for path, following in itertools.pairwise(files):
            too_old = path.stat().st_mtime * 1e6 < older_than_us
            if int(following.stem) - 1 > passed or not (too_old or total > keep_bytes):
                return
            total -= path.stat().st_size
            self._forget_claims(path)
            remove_segment(path)

    def _forget_claims(self, path: Path) -> None:
        if self._on_remove:
            connection = open_writable(path)
            for key in claim_keys(connection):
                self._on_remove(key)
            connection.close()

    # Opening

    def _open_newest(self) -> None:
        for path in reversed(segment_files(self._folder)):
            connection = open_writable(path)
            header = read_header(connection)
            if header:
                self._use(connection, header)
                return
            connection.close()  # its creation was cut off: it never held a record
            remove_segment(path)
        header = Header(new_incarnation(), 1, 0)
        self._use(create_segment(self._folder, header, []), header)

    def _use(self, connection: sqlite3.Connection, header: Header) -> None:
        self._connection, self._header = connection, header
        self._next = last_sequence(connection, header) + 1
        row = connection.execute("SELECT received_us FROM records WHERE sequence = ?", (self._next - 1,)).fetchone()
        self._last_us = row[0] if row else 0
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        self._segment_bytes = pages * connection.execute("PRAGMA page_size").fetchone()[0]

    def _reopen(self) -> None:
        """After a failed commit nobody knows what reached the disk: read it back instead of guessing."""
        try:
            self._connection.close()
            self._open_newest()
        except (sqlite3.Error, OSError) as error:
            self._error = f"The event log at {self._folder} cannot be opened: {error}. Restore its disk."

    # The caller's thread

    def _enqueue(self, waiting: _Waiting) -> None:
        if trouble := self._disk_trouble():
            raise LogUnavailable(trouble)
        with self._wake:
            if self._closing:
                raise LogUnavailable("Headwater is stopping. Send the event again in a moment.")
            if self._queue and self._queued_bytes + waiting.size > self._limits.queued_bytes:
                raise LogUnavailable("Over capacity: more events wait than may. Send the event again in a moment.")
            self._queue.append(waiting)
            self._queued_bytes += waiting.size
            self._wake.notify()

    def _disk_trouble(self) -> str | None:
        now = time.monotonic()
        if now - self._free_checked > 0.5:
            self._free_checked = now
            self._low_disk = _low_disk(self._folder, self._limits.min_free_bytes)
        return self._low_disk


def _low_disk(folder: Path, min_free_bytes: int) -> str | None:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"The log folder {folder} is not there: {error.strerror}. Restore it."
    if free >= min_free_bytes:
        return None
    return (
        f"Only {free >> 20} MiB are free at {folder}; below {min_free_bytes >> 20} MiB nothing is accepted. "
        "Free some space."
    )


def _expire(waiting: _Waiting, timeout_s: float) -> None:
    if not waiting.done.done():
        waiting.done.set_exception(
            LogUnavailable(f"No answer of the log within {timeout_s:.1f} s. Send the event again.")
        )


def _settle(group: list[_Waiting], failure: LogUnavailable | None) -> None:
    for waiting in group:
        if waiting.done.done():
            continue
        if failure:
            waiting.done.set_exception(failure)
        else:
            waiting.done.set_result(None)


def _chunks(values: list[_Row]) -> list[list[_Row]]:
    chunks, start = [], 0
    for size in _CHUNKS:
        while len(values) - start >= size:
            chunks.append(values[start : start + size])
            start += size
    return chunks
