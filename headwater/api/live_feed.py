"""`live`: what happens now as server-sent events, read once for all who listen.

One task reads the feed of the index while anybody listens; each event is encoded once. Who reads too slowly is let go
and may come again with the id of its last event.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from headwater.errors import LakeUnavailable
from headwater.index.home import IndexHome
from headwater.index.reading.feed_reader import FeedPlace, FeedReader, Happened

LOOK_S = 0.5
HEARTBEAT_S = 15.0
SLOW_S = 20.0
MAX_WAITING = 4_000
REPLAYED = 2_000
"""Most events that are sent again to who comes back; for more it is told to ask anew."""

MAX_CLIENTS = 1_000

_HEADERS = [
    (b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"),
]  # fmt: skip


class _Client:
    """Someone who listens; None in the queue ends it."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_WAITING)

    def give(self, message: bytes | None) -> None:
        try:
            self.waiting.put_nowait(message)
        except asyncio.QueueFull:  # too slow: it comes again, and goes on behind the last that it had
            while not self.waiting.empty():
                self.waiting.get_nowait()
            self.waiting.put_nowait(None)


class Live:
    """The listeners of one process."""

    def __init__(self, home: IndexHome, *, slow_s: float = SLOW_S):
        """Read nothing before somebody listens. slow_s: a client that takes nothing for so long is let go."""
        self._slow_s = slow_s
        self._reader = FeedReader(home)
        self._reading = asyncio.Lock()
        self._clients: set[_Client] = set()
        self._task: asyncio.Task[None] | None = None
        self._place: FeedPlace | None = None

    @property
    def listening(self) -> int:
        """How many listen."""
        return len(self._clients)

    async def open(self, last_id: str | None) -> "LiveStream":
        """Begin to listen, behind an event or from now on; raises LakeUnavailable while there is no index."""
        client = _Client()
        async with self._reading:
            self._tell(await asyncio.to_thread(self._read, from_now=not self._clients))
            missed = await asyncio.to_thread(self._missed, last_id)
            begin = (
                Happened(str(self._place), "reset", {})
                if missed is None
                else Happened(last_id or str(self._place), "hello", {})
            )
            for message in _messages([begin, *(missed or ())]):
                client.give(message)
            self._clients.add(client)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._follow())
        return LiveStream(self, client, self._slow_s)

    def leave(self, client: _Client) -> None:
        """Give up a listener."""
        self._clients.discard(client)

    def close(self) -> None:
        """End every stream."""
        for client in self._clients:
            client.give(None)

    async def _follow(self) -> None:
        while self._clients:
            await asyncio.sleep(LOOK_S)
            async with self._reading:
                with contextlib.suppress(LakeUnavailable):  # built anew: it goes on with the new file
                    self._tell(await asyncio.to_thread(self._read))
        self._reader.close()

    def _read(self, *, from_now: bool = False) -> Sequence[Happened]:
        """Read what is new; from_now: what nobody listened to is not."""
        if self._place is None or from_now:
            self._place = self._reader.newest()
        found, self._place = self._reader.read(self._place)
        return found

    def _missed(self, last_id: str | None) -> Sequence[Happened] | None:
        """Return what happened behind an id up to where all others are, None where that cannot be told any more."""
        at, missed = self._reader.find(last_id) if last_id else self._place, list[Happened]()
        while at is not None and at != self._place and len(missed) <= REPLAYED:
            found, at = self._reader.read(at, until=self._place)
            missed += found
        return None if at is None or len(missed) > REPLAYED else missed

    def _tell(self, found: Sequence[Happened]) -> None:
        for message in _messages(found):
            for client in self._clients:
                client.give(message)


def _messages(found: Iterable[Happened]) -> list[bytes]:
    return [_encoded(happened) for happened in found]


def _encoded(happened: Happened) -> bytes:
    """Encode an event; JSON has no line breaks of its own."""
    data = msgspec.json.encode(happened.value)
    return f"id: {happened.id}\nevent: {happened.kind}\ndata: ".encode() + data + b"\n\n"


class LiveStream:
    """One listener's answer, until it or we go."""

    def __init__(self, live: Live, client: _Client, slow_s: float):
        """Send to a client that listens already."""
        self._slow_s = slow_s
        self._live = live
        self._client = client

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send what comes, and a comment where nothing does."""
        gone = asyncio.create_task(self._until_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            while (message := await self._next()) is not None:
                part = {"type": "http.response.body", "body": message, "more_body": True}
                await asyncio.wait_for(send(part), self._slow_s)
            await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), self._slow_s)
        except TimeoutError:
            pass  # the server closes the connection of an answer that has no end
        finally:
            gone.cancel()
            self._live.leave(self._client)

    async def _next(self) -> bytes | None:
        try:
            return await asyncio.wait_for(self._client.waiting.get(), HEARTBEAT_S)
        except TimeoutError:
            return b":\n\n"

    async def _until_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._client.give(None)


def last_id(request: Request) -> str | None:
    """Return the id behind which a request wants to go on."""
    return request.headers.get("last-event-id") or request.query_params.get("lastEventId")
