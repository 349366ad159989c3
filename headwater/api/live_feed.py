"""The route `live`: stream changes of the index to clients as server-sent events.

While there are clients, one task reads the feed of the index and encodes each event once for all of them. A client that
reads too slowly is disconnected, and can reconnect with the id of its last event.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import field
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from headwater.common.errors import LakeUnavailable
from headwater.index.home import IndexHome
from headwater.index.reading.feed import FeedEvent, FeedPlace, FeedReader
from headwater.questions.answer_types.common import AnswerStruct, Count, Dataset, Job, Time

POLL_INTERVAL_S = 0.5
HEARTBEAT_S = 15.0
SLOW_CLIENT_S = 20.0
MAX_QUEUED = 4_000
MAX_REPLAYED = 2_000
"""Maximum number of missed events that a reconnecting client receives. If it missed more, it receives `reset`."""

MAX_CLIENTS = 1_000
_HEADERS = [
    (b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"),
]  # fmt: skip


class RunHappened(AnswerStruct):
    """A run changed its state."""

    run: str
    state: str
    job: Job
    started: Time | None
    ended: Time | None


class EdgeHappened(AnswerStruct):
    """Lineage of a job between two datasets appeared or ended. columns: number of column edges."""

    change: Literal["appeared", "ended"]
    job: Job
    from_: Dataset = field(name="from")
    to: Dataset
    columns: Count


class RejectedHappened(AnswerStruct):
    """An acknowledged event could not be stored."""

    received_at: Time
    reason: str
    field: str | None
    message: str | None


LIVE_EVENTS: dict[str, type[AnswerStruct]] = {"run": RunHappened, "edge": EdgeHappened, "rejected": RejectedHappened}


class _FeedClient:
    """A connected client with its queue of encoded events. None in the queue ends the stream."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_QUEUED)

    def enqueue(self, message: bytes | None) -> None:
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:  # disconnect the slow client; when it reconnects, it resumes after its last event
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(None)


class LiveFeed:
    """Sends the events of the index's feed to all connected clients of a process."""

    def __init__(self, home: IndexHome, *, slow_s: float = SLOW_CLIENT_S):
        """slow_s: seconds after which a client that accepts no data is disconnected."""
        self._slow_s = slow_s
        self._reader = FeedReader(home)
        self._reading = asyncio.Lock()
        self._clients: set[_FeedClient] = set()
        self._task: asyncio.Task[None] | None = None
        self._position: FeedPlace | None = None

    @property
    def client_count(self) -> int:
        """The number of clients."""
        return len(self._clients)

    async def add_client(self, last_id: str | None) -> "LiveStream":
        """Add a client, and return the stream of its response.

        last_id: id of the last event that the client received; None to start with new events. Raises LakeUnavailable
        while there is no index.
        """
        client = _FeedClient()
        async with self._reading:
            self._broadcast(await asyncio.to_thread(self._read_new_events, from_now=not self._clients))
            missed = await asyncio.to_thread(self._events_missed_since, last_id)
            begin = (
                FeedEvent(str(self._position), "reset", {})
                if missed is None
                else FeedEvent(last_id or str(self._position), "hello", {})
            )
            for message in _encode_messages([begin, *(missed or ())]):
                client.enqueue(message)
            self._clients.add(client)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._follow_index())
        return LiveStream(self, client, self._slow_s)

    def remove_client(self, client: _FeedClient) -> None:
        """Remove a client."""
        self._clients.discard(client)

    def close(self) -> None:
        """End every stream."""
        for client in self._clients:
            client.enqueue(None)

    async def _follow_index(self) -> None:
        while self._clients:
            await asyncio.sleep(POLL_INTERVAL_S)
            async with self._reading:
                with contextlib.suppress(LakeUnavailable):  # the index is being rebuilt; continue with the new file
                    self._broadcast(await asyncio.to_thread(self._read_new_events))
        self._reader.close()

    def _read_new_events(self, *, from_now: bool = False) -> Sequence[FeedEvent]:
        """Read new events of the feed. from_now: skip earlier events, because there were no clients."""
        if self._position is None or from_now:
            self._position = self._reader.end_of_feed()
        found, self._position = self._reader.read_changes(self._position)
        return found

    def _events_missed_since(self, last_id: str | None) -> Sequence[FeedEvent] | None:
        """Return the events after an id up to the current position, None if the feed no longer contains all of them."""
        at, missed = self._reader.find_place(last_id) if last_id else self._position, list[FeedEvent]()
        while at is not None and at != self._position and len(missed) <= MAX_REPLAYED:
            found, at = self._reader.read_changes(at, until=self._position)
            missed += found
        return None if at is None or len(missed) > MAX_REPLAYED else missed

    def _broadcast(self, found: Sequence[FeedEvent]) -> None:
        for message in _encode_messages(found):
            for client in self._clients:
                client.enqueue(message)


def _encode_messages(found: Iterable[FeedEvent]) -> list[bytes]:
    return [_encode_event(happened) for happened in found]


def _encode_event(event: FeedEvent) -> bytes:
    """Encode an event of the feed as a server-sent event. Its JSON must not contain line breaks."""
    data = msgspec.json.encode(event.content)
    return f"id: {event.id}\nevent: {event.kind}\ndata: ".encode() + data + b"\n\n"


class LiveStream:
    """The response to one client, an ASGI application."""

    def __init__(self, live: LiveFeed, client: _FeedClient, slow_s: float):
        self._slow_s = slow_s
        self._live = live
        self._client = client

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client disconnects. While there are no events, send heartbeat comments."""
        gone = asyncio.create_task(self._wait_for_disconnect(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            while (message := await self._next_message()) is not None:
                part = {"type": "http.response.body", "body": message, "more_body": True}
                await asyncio.wait_for(send(part), self._slow_s)
            await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), self._slow_s)
        except TimeoutError:
            pass  # the server closes the connection, because the response is not complete
        finally:
            gone.cancel()
            self._live.remove_client(self._client)

    async def _next_message(self) -> bytes | None:
        try:
            return await asyncio.wait_for(self._client.queue.get(), HEARTBEAT_S)
        except TimeoutError:
            return b":\n\n"

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._client.enqueue(None)


def last_event_id(request: Request) -> str | None:
    """Return the id of the last event that a client received."""
    return request.headers.get("last-event-id") or request.query_params.get("lastEventId")
