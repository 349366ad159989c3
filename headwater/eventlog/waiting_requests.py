"""Requests that wait for the log's writer, which takes them by groups, in order, and tells each what became of it."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import LogUnavailable
from headwater.eventlog import Record

_GROUP_RECORDS = 512
_GROUP_BYTES = 16 << 20


@dataclass(slots=True, eq=False)
class WaitingRequest:
    """One request that waits for its commit; size: bytes of its records' bodies."""

    records: Sequence[Record]
    size: int
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]

    def expire(self, timeout_s: float) -> None:
        """Answer that the time is over, if nothing was answered yet."""
        if not self.done.done():
            said = f"No answer of the log within {timeout_s:.1f} s. Send the event again."
            self.done.set_exception(LogUnavailable(said))


def waiting_request(records: Sequence[Record]) -> WaitingRequest:
    """Return a request of the loop that runs."""
    loop = asyncio.get_running_loop()
    return WaitingRequest(records, sum(len(each.body) for each in records), loop, loop.create_future())


class WaitingRequests:
    """All that wait. Two threads use it: whoever calls holds the lock of both."""

    def __init__(self, most_bytes: int) -> None:
        """Nobody waits. most_bytes: of records' bodies, that may; one request alone may be larger."""
        self._most_bytes = most_bytes
        self._queue: deque[WaitingRequest] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._queue)

    def put(self, waiting: WaitingRequest) -> None:
        """Let a request wait behind all others; raises LogUnavailable over capacity."""
        if self._queue and self._bytes + waiting.size > self._most_bytes:
            raise LogUnavailable("Over capacity: more events wait than may. Send the event again in a moment.")
        self._queue.append(waiting)
        self._bytes += waiting.size

    def take_group(self) -> list[WaitingRequest]:
        """Take those that one commit shall write, without those that nobody waits for any more."""
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
    """Tell each, from its own thread, that it is on disk, or why not."""
    loop = group[0].loop
    if not loop.is_closed():
        loop.call_soon_threadsafe(_settle, group, failure)


def _settle(group: list[WaitingRequest], failure: LogUnavailable | None) -> None:
    for waiting in group:
        if waiting.done.done():
            continue
        if failure:
            waiting.done.set_exception(failure)
        else:
            waiting.done.set_result(None)
