"""The short way of a posted event: HTTP straight to the receiver, without ASGI messages in between.

Measured at 2 KB: uvicorn and ASGI cost 120 us of CPU a request, this 25 us. It takes plain requests on the receiver's
paths. At the first request of any other kind the whole connection goes over to uvicorn, which then reads that
request from its first byte: nothing has been done with it yet.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from headwater.receiver import Answer, Request

Take = Callable[[Request], Awaitable[Answer]]
Find = Callable[[str, str], Take | None]

MAX_BYTES = 1 << 20
"""Larger requests go to uvicorn, which reads them piece by piece."""

WHOLE_S = 1.0
"""A request that is not whole by then goes to uvicorn, where the body's time is limited."""

IDLE_S = 75.0


class ShortWay(asyncio.Protocol):
    """One connection, one request at a time; uvicorn sees it as one of its own protocols."""

    def __init__(self, find: Find, **uvicorn: Any):
        """Ask `find(path, host)` who takes a request; uvicorn: what its own protocol is made from."""
        self._find = find
        self._uvicorn = uvicorn
        self._connections, self._tasks = uvicorn["server_state"].connections, uvicorn["server_state"].tasks
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._task: asyncio.Task[None] | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._behind: list[bytes] = []
        self._stopping = False
        self._forget()

    def _forget(self) -> None:
        """Make ready for the next request."""
        self._raw: list[bytes] = []
        self._size = 0
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._whole = False

    # The connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for requests."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._connections.add(self)
        self._active_at = self._loop.time()
        self._idle = self._loop.call_later(IDLE_S, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's name
        """Forget the client; what it has sent whole is still kept."""
        self._leave()

    def eof_received(self) -> bool:
        """Answer a client that has only closed its own side."""
        self._stopping = True
        return self._task is not None

    def shutdown(self) -> None:
        """End after the answer that is under way; uvicorn asks for it when the server stops."""
        self._stopping = True
        if self._task is None:
            self._transport.close()

    def _close_if_idle(self) -> None:
        left = self._active_at + IDLE_S - self._loop.time()
        if left <= 0 and self._task is None:
            self._transport.close()
        else:
            self._idle = self._loop.call_later(max(left, 1.0), self._close_if_idle)

    def _leave(self) -> None:
        self._connections.discard(self)
        self._idle.cancel()
        if self._patience:
            self._patience.cancel()

    # A request

    def data_received(self, data: bytes) -> None:
        """Read on; answer a request that is whole, hand over one that is unusual."""
        if self._task:
            self._behind.append(data)  # sent before the answer to the last one
            self._transport.pause_reading()
            return
        self._raw.append(data)
        self._size += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, _Unusual):
            self._hand_over()
            return
        if self._whole:
            self._begin()
        elif self._size > MAX_BYTES:
            self._hand_over()
        elif self._patience is None:
            self._patience = self._loop.call_later(WHOLE_S, self._hand_over)

    def on_url(self, url: bytes) -> None:
        """Keep a part of the path and query."""
        if self._whole:
            raise _Unusual  # a second request right behind the first
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; the last of a name wins."""
        self._headers[name.lower().decode("latin-1")] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Decide which way the request takes."""
        path, _, query = self._url.decode("latin-1").partition("?")
        take = self._find(path, self._headers.get("host", ""))
        if take is None or "expect" in self._headers or self._parser.should_upgrade():
            raise _Unusual
        self._take, self._query = take, query

    def on_body(self, part: bytes) -> None:
        """Keep a part of the body."""
        self._body.append(part)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        self._whole = True

    def _begin(self) -> None:
        if self._patience:
            self._patience.cancel()
            self._patience = None
        method = self._parser.get_method().decode("latin-1")
        request = Request(method, self._headers, self._query, _chunks(self._body))
        self._task = self._loop.create_task(self._answer(request, keep=self._parser.should_keep_alive()))
        self._tasks.add(self._task)
        self._forget()

    async def _answer(self, request: Request, *, keep: bool) -> None:
        answer = None
        try:
            answer = await self._take(request)
        finally:  # an error of ours goes to the log with its trace; the client sees the connection end
            self._tasks.discard(self._task)
            self._task = None
            self._active_at = self._loop.time()
            keep = keep and not self._stopping
            if answer and not self._transport.is_closing():
                self._transport.write(encode_answer(answer, keep=keep))
            if not answer or not keep:
                self._transport.close()
        if self._behind:
            data, self._behind = b"".join(self._behind), []
            self._transport.resume_reading()
            self.data_received(data)

    def _hand_over(self) -> None:
        """Let uvicorn have the connection, from the first byte of this request on."""
        self._leave()
        protocol = HttpToolsProtocol(**self._uvicorn)
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(b"".join(self._raw))
        del self._parser  # it holds this object


class _Unusual(Exception):
    """This request takes the way through uvicorn."""


async def _chunks(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def encode_answer(answer: Answer, *, keep: bool) -> bytes:
    """Return an answer as it goes over the wire, in one piece."""
    lines = [STATUS_LINE[answer.status]]
    lines += [f"{name}: {value}\r\n".encode("latin-1") for name, value in answer.headers.items()]
    if answer.body:
        lines.append(b"content-type: application/json\r\n")
    if not keep:
        lines.append(b"connection: close\r\n")
    if answer.body or answer.status != 204:
        lines.append(b"content-length: %d\r\n" % len(answer.body))
    return b"".join((*lines, b"\r\n", answer.body))
