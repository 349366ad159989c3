"""The queue of requests that wait for the writer of the local log. The writer takes them in groups and answers each."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import Record

_GROUP_RECORDS = 512
_GROUP_BYTES = 16 << 20


@dataclass(slots=True, eq=False)
class WaitingRequest:
    """A request that waits for its commit. size: bytes of its bodies."""

    records: Sequence[Record]
    size: int
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]

    def expire(self, timeout_s: float) -> None:
        """Answer with a timeout error, unless the request was answered."""
        if not self.done.done():
            message = f"The log did not answer within {timeout_s:.1f} s. Send the event again."
            self.done.set_exception(LogUnavailable(message))


def waiting_request(records: Sequence[Record]) -> WaitingRequest:
    """Create a request in the running event loop."""
    loop = asyncio.get_running_loop()
    return WaitingRequest(records, sum(len(each.body) for each in records), loop, loop.create_future())


class WaitingRequests:
    """The queue. Two threads use it; the caller holds their lock."""

    def __init__(self, most_bytes: int) -> None:
        """most_bytes: maximum bytes of waiting bodies; a single request may exceed it."""
        self._most_bytes = most_bytes
        self._queue: deque[WaitingRequest] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._queue)

    def put(self, waiting: WaitingRequest) -> None:
        """Append a request. Raises LogUnavailable if the queue is over capacity."""
        if self._queue and self._bytes + waiting.size > self._most_bytes:
            raise LogUnavailable("Over capacity: too many events are waiting. Send the event again in a moment.")
        self._queue.append(waiting)
        self._bytes += waiting.size

    def take_group(self) -> list[WaitingRequest]:
        """Remove and return the requests for the next commit, without expired ones."""
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
    """Answer all requests of a group in their event loop: success, or the failure."""
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
