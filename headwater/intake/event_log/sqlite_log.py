"""Writes to the local log: one thread commits groups of requests over one connection.

Requests wait in a queue. While a commit waits for the disk, further requests form the next group, so one fdatasync
serves many requests under load. The log refuses requests before the disk is full.
"""

import asyncio
import logging
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from headwater.common.errors import GiveUp, LogUnavailable, WrongSetting
from headwater.intake.event_log import LakeCheck, Record
from headwater.intake.event_log.checked_log_opener import CheckedLogOpener
from headwater.intake.event_log.segment_writer import SegmentWriter
from headwater.intake.event_log.segments import PARTITION

_LOOK_EVERY_S = 0.5


class FreeDisk:
    """The free space on a folder's disk, checked at most twice a second."""

    def __init__(self, folder: Path, min_free_bytes: int) -> None:
        """min_free_bytes: free bytes on the disk below which the log refuses events."""
        self._folder, self._min_free_bytes = folder, min_free_bytes
        self._checked_at = 0.0
        self._trouble: str | None = None

    def unavailability_reason(self) -> str | None:
        """Return why nothing can be written, or None."""
        now = time.monotonic()
        if now - self._checked_at > _LOOK_EVERY_S:
            self._checked_at = now
            self._trouble = self._check_free_space()
        return self._trouble

    def _check_free_space(self) -> str | None:
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            return f"The log folder {self._folder} cannot be read: {error.strerror}. Restore it."
        if free >= self._min_free_bytes:
            return None
        return (
            f"Only {free >> 20} MiB are free at {self._folder}. Below {self._min_free_bytes >> 20} MiB, Headwater "
            "accepts no events. Free some space."
        )


_GROUP_RECORDS = 512
_GROUP_BYTES = 16 << 20


@dataclass(slots=True, eq=False)
class WaitingRequest:
    """A request that waits for the commit of its records. size: sum of the body sizes (bytes)."""

    records: Sequence[Record]
    size: int
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]

    def answer_with_timeout(self, timeout_s: float) -> None:
        """Answer the request with a timeout error, unless it was answered before."""
        if not self.done.done():
            message = f"The log did not answer within {timeout_s:.1f} s. Send the event again."
            self.done.set_exception(LogUnavailable(message))


def waiting_request(records: Sequence[Record]) -> WaitingRequest:
    """Create a waiting request. Call it in the event loop of the request."""
    loop = asyncio.get_running_loop()
    return WaitingRequest(records, sum(len(each.body) for each in records), loop, loop.create_future())


class WaitingRequests:
    """The queue of requests that wait for a commit. Not thread-safe: callers hold the lock of the log."""

    def __init__(self, max_bytes: int) -> None:
        """max_bytes: maximum bytes of waiting bodies. A request that waits alone may exceed it."""
        self._most_bytes = max_bytes
        self._queue: deque[WaitingRequest] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._queue)

    def enqueue(self, waiting: WaitingRequest) -> None:
        """Append a request. Raises LogUnavailable if too many bytes wait."""
        if self._queue and self._bytes + waiting.size > self._most_bytes:
            raise LogUnavailable("Over capacity: too many events are waiting. Send the event again in a moment.")
        self._queue.append(waiting)
        self._bytes += waiting.size

    def take_group(self) -> list[WaitingRequest]:
        """Remove and return the requests for the next commit. Drops expired requests."""
        group: list[WaitingRequest] = []
        rows = size = 0
        while self._queue and rows < _GROUP_RECORDS and size < _GROUP_BYTES:
            waiting = self._queue.popleft()
            self._bytes -= waiting.size
            if not waiting.done.done():
                group.append(waiting)
                rows += len(waiting.records)
                size += waiting.size
        return group


def answer_group(group: list[WaitingRequest], failure: LogUnavailable | None) -> None:
    """Answer all requests of a group in their event loop. failure: the error, or None for success."""
    loop = group[0].loop
    if not loop.is_closed():
        loop.call_soon_threadsafe(_set_results, group, failure)


def _set_results(group: list[WaitingRequest], failure: LogUnavailable | None) -> None:
    for waiting in group:
        if waiting.done.done():
            continue
        if failure:
            waiting.done.set_exception(failure)
        else:
            waiting.done.set_result(None)


log = logging.getLogger(__name__)

RETRY_S = 0.5
MAX_PAUSE_S = 10.0
START_S = 2.0
"""Seconds that the constructor waits until the log is open.

If the lake is slower, opening continues in the background.
"""
_NOT_YET = "The log is being opened. Send the event again in a moment."


@dataclass(frozen=True, slots=True)
class LogLimits:
    """Limits of disk space and memory, and the age and size at which parsed segments are deleted."""

    segment_bytes: int = 256 << 20
    queued_bytes: int = 64 << 20
    min_free_bytes: int = 256 << 20
    retain_hours: float = 72
    retain_bytes: int = 4 << 30


class SqliteLog:
    """Writes to a log folder. The caller holds the lock of the folder, because there may be only one writer."""

    def __init__(
        self,
        folder: Path,
        limits: LogLimits = LogLimits(),
        *,
        on_remove: Callable[[bytes], None] = lambda _: None,
        before_retention: Callable[[], None] = lambda: None,
        on_commit: Callable[[], None] = lambda: None,
        lake: LakeCheck = LakeCheck("", lambda: None),  # noqa: B008 - frozen
    ):
        """Open or create the log. Returns when the log is open, at the latest after START_S.

        While the log cannot be opened, it acknowledges nothing, `unavailability_reason` returns the reason, and the
        writer thread retries.
        on_remove: called with the key of each claim to which a record refers that retention deletes. before_retention:
        called before each retention; raises LogUnavailable to postpone the retention. on_commit: called after each
        committed group. lake: the check that must succeed before the log accepts records.
        Raises WrongSetting if a newer version wrote the log, or if the log does not belong to the lake.
        """
        self._folder = folder.resolve()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._limits = limits
        self._on_remove = on_remove
        self._before_retention = before_retention
        self._on_commit = on_commit
        self._waiting = WaitingRequests(limits.queued_bytes)
        self._disk = FreeDisk(self._folder, limits.min_free_bytes)
        self._wake = threading.Condition()
        self._closing = False
        self._closed: str | None = _NOT_YET  # why the files cannot be opened
        self._pause_s = RETRY_S  # until they are tried again
        self._error: str | None = None  # why the last group could not be written
        self._put_off: str | None = None  # why retention did nothing
        self._retention: tuple[int, float, int] | None = None
        self._writer: SegmentWriter | None = None
        self._opening = CheckedLogOpener(self._folder, limits.segment_bytes, lake)
        self._opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._write_groups, name="log-writer", daemon=True)
        self._thread.start()
        try:
            self._opened.result(START_S)
        except TimeoutError:
            pass
        except WrongSetting:
            self.close()
            raise
        except GiveUp as error:
            log.warning("Nothing is acknowledged: %s", error)

    @property
    def epoch(self) -> str:
        """The epoch of the log. Raises LogUnavailable while its files cannot be opened."""
        if self._writer is None:
            raise LogUnavailable(self._closed or self._error)
        return self._writer.header.epoch

    async def append(self, records: Sequence[Record], *, timeout_s: float) -> None:
        """Store the records durably, all or none.

        Raises LogUnavailable if the disk is nearly full, too many bytes wait, the storage fails, or the commit takes
        longer than the timeout. After a timeout, the records may still be stored. If the producer repeats the request,
        the event ids identify the duplicates.
        """
        waiting = waiting_request(records)
        self._enqueue_request(waiting)
        timer = waiting.loop.call_later(timeout_s, waiting.answer_with_timeout, timeout_s)
        try:
            await waiting.done
        finally:
            timer.cancel()

    def unavailability_reason(self) -> str | None:
        """Return why nothing can be acknowledged right now, or None."""
        if self._closing or not self.is_writing():
            return "The log is closed. Start Headwater again."
        return self._disk.unavailability_reason() or self._closed or self._error or self._misplaced_reason()

    def is_writing(self) -> bool:
        """Whether the writer thread runs. Before `close`, only a bug can end the thread."""
        return self._thread.is_alive()

    def retain(self, passed: Callable[[], Mapping[str, int]]) -> None:
        """Request retention with the limits of the log. Nothing is deleted while the log or the lake is unavailable."""
        if self._closed:
            raise LogUnavailable(self._closed)
        self._before_retention()
        oldest_us = (time.time() - self._limits.retain_hours * 3600) * 1e6
        self.request_retention(passed()[PARTITION], oldest_us, self._limits.retain_bytes)

    def request_retention(self, passed: int, older_than_us: float, keep_bytes: int) -> None:
        """Request the deletion of parsed segments that are too old, or that make the log too large.

        passed: the newest sequence in the lake; later records are never deleted. older_than_us: delete segments that
        were last written before this time (us). keep_bytes: size of the log above which the oldest segments are
        deleted.
        """
        with self._wake:
            self._retention = (passed, older_than_us, keep_bytes)
            self._wake.notify()

    async def aclose(self) -> None:
        """Call `close` in a thread, because meanwhile the event loop must deliver the last answers."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Commit waiting requests, then close. The folder can be opened again afterwards."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        if self._writer:
            self._writer.close()
        self._opening.close()

    # The writer thread

    def _write_groups(self) -> None:
        try:
            self._open_files()
            self._opened.set_result(None)
        except GiveUp as error:
            self._closed = str(error)
            self._opened.set_exception(error)
        while True:
            group = self._next_group()
            if not group and self._closing:
                return
            if self._writer is None:
                self._reopen_files()
            if group:
                self._commit_group(group)
            self._maintain_segments()

    def _next_group(self) -> list[WaitingRequest]:
        with self._wake:
            while not (self._waiting or self._closing or self._retention):
                if not self._wake.wait(self._pause_s if self._writer is None else None):
                    return []
            return self._waiting.take_group()

    def _commit_group(self, group: list[WaitingRequest]) -> None:
        failure = None
        if self._writer is None:
            failure = LogUnavailable(self._closed)
        else:
            try:
                self._writer.write([record for waiting in group for record in waiting.records])
                self._opening.write_count(self._writer)
                self._error = None
            except LogUnavailable as error:
                failure = error
                self._close_after_failure(error)
        answer_group(group, failure)
        if not failure:
            self._on_commit()

    def _maintain_segments(self) -> None:
        retention, self._retention = self._retention, None
        if self._writer is None:
            return
        try:
            self._writer.roll_or_checkpoint()
        except LogUnavailable as error:
            self._close_after_failure(error)
            return
        if retention:
            self._delete_old_segments(self._writer, *retention)

    def _delete_old_segments(self, writer: SegmentWriter, passed: int, older_than_us: float, keep_bytes: int) -> None:
        put_off = None
        try:
            writer.delete_old_segments(passed, older_than_us, keep_bytes, self._on_remove)
        except LogUnavailable as error:
            put_off = str(error)
        if put_off != self._put_off and put_off:
            log.warning("Retention is postponed: %s", put_off)
        self._put_off = put_off

    def _close_after_failure(self, error: LogUnavailable) -> None:
        """Close the files after a failed write.

        The writer opens them again for the next group, and reads which records are stored.
        """
        if self._error != str(error):
            log.warning("%s", error)
        if self._misplaced_reason():
            self._closed = str(error)  # until the path has the right log again
        else:
            self._error = str(error)
        if self._writer:
            self._writer.close()
            self._writer = None

    def _open_files(self) -> None:
        began = time.monotonic()
        try:
            self._writer = self._opening.open_segment()
            self._closed = None
        except LogUnavailable as error:
            if self._closed != str(error):
                log.warning("Nothing is acknowledged: %s", error)
            self._closed = str(error)
        finally:
            self._pause_s = min(MAX_PAUSE_S, RETRY_S + 10 * (time.monotonic() - began))

    def _reopen_files(self) -> None:
        try:
            self._open_files()
        except GiveUp as error:  # a newer Headwater has written the log, or it was replaced
            self._closed = str(error)

    def _misplaced_reason(self) -> str | None:
        writer = self._writer
        try:
            if writer:
                writer.check_in_place()
        except LogUnavailable as error:
            return str(error)
        return None

    # The caller's thread

    def _enqueue_request(self, waiting: WaitingRequest) -> None:
        if trouble := self._disk.unavailability_reason():
            raise LogUnavailable(trouble)
        with self._wake:
            if self._closing:
                raise LogUnavailable("Headwater is stopping. Send the event again in a moment.")
            self._waiting.enqueue(waiting)
            self._wake.notify()
