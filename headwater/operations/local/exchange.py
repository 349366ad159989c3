"""One HTTP request and its response on a connection. Base of the exchanges for posted events and for ASGI."""

import asyncio
from abc import ABC, abstractmethod
from functools import cache
from http.client import responses
from typing import Protocol

HIGH_WATER_BYTES = 64 << 10
"""The connection stops reading from the client while more bytes of a body than this wait for the handler."""


class FlowControl:
    """Pauses reading from a client, and tells writers when its socket is full."""

    def __init__(self, transport: asyncio.Transport):
        self._transport = transport
        self._is_read_paused = False
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def is_write_paused(self) -> bool:
        """Whether writers must wait because the client does not read its responses fast enough."""
        return not self._writable.is_set()

    def pause_reading(self) -> None:
        """Stop reading from the client."""
        if not self._is_read_paused:
            self._is_read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Start reading from the client again."""
        if self._is_read_paused:
            self._is_read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """Let writers wait in `drain`."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let writers continue."""
        self._writable.set()

    async def drain(self) -> None:
        """Wait until the socket accepts more bytes for the client."""
        await self._writable.wait()


class ExchangeConnection(Protocol):
    """The members of a connection that an exchange uses."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    flow: FlowControl

    def on_response_complete(self) -> None:
        """Continue with the next request."""


class Exchange(ABC):
    """One request and its response. The connection adds the body as it arrives.

    more_body: whether parts of the body are still missing. keep_alive: whether the connection stays open after the
    response.
    """

    def __init__(self, wire: ExchangeConnection, method: str, *, keep_alive: bool, expects_100: bool):
        """expects_100: whether the client waits for `100 Continue` before it sends the body."""
        self.body = bytearray()
        self.more_body = True
        self.disconnected = False
        self.keep_alive = keep_alive
        self.response_complete = False
        self._wire = wire
        self._method = method
        self._expects_100 = expects_100
        self._changed = asyncio.Event()

    @abstractmethod
    async def run(self) -> None:
        """Handle the request and send the response. The connection calls this after the previous response."""

    def add_body_part(self, part: bytes) -> None:
        """Add a part of the body. If more than HIGH_WATER_BYTES are unread, the connection stops reading."""
        if self.response_complete:
            return
        self.body += part
        if len(self.body) > HIGH_WATER_BYTES:
            self._wire.flow.pause_reading()
        self._changed.set()

    def end_body(self) -> None:
        """Mark the body as complete."""
        if not self.response_complete:
            self.more_body = False
            self._changed.set()

    def disconnect(self) -> None:
        """Mark the client as disconnected, unless the response is complete."""
        self.disconnected = not self.response_complete
        self._changed.set()

    async def _wait_for_body_part(self) -> None:
        """Wait until a part of the body arrives, the body ends, or the client disconnects."""
        if self._expects_100:
            self._expects_100 = False
            self._wire.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._wire.flow.resume_reading()
        await self._changed.wait()
        self._changed.clear()

    def _complete_response(self) -> None:
        """End the response. Then close the connection, or let it continue with its next request."""
        self.response_complete = True
        self._changed.set()
        if not self.keep_alive:
            self._wire.transport.close()
        self._wire.on_response_complete()


@cache
def status_line(status: int) -> bytes:
    """Return the status line of a response. The reason phrase is empty if the status is not registered."""
    return f"HTTP/1.1 {status} {responses.get(status, '')}\r\n".encode("ascii")
