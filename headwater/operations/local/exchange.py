"""One HTTP request and its response on a connection: what the paths of posted events and of ASGI have in common."""

import asyncio
from abc import ABC, abstractmethod
from functools import cache
from http.client import responses
from typing import Protocol

HIGH_WATER_BYTES = 64 << 10
"""The connection stops reading while this much of a body waits for its handler."""


class FlowControl:
    """Pauses reading from a client, and tells writers when its socket is full."""

    def __init__(self, transport: asyncio.Transport):
        self._transport = transport
        self._is_read_paused = False
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def is_write_paused(self) -> bool:
        """Whether the client does not take what was sent to it."""
        return not self._writable.is_set()

    def pause_reading(self) -> None:
        """Leave further bytes with the client."""
        if not self._is_read_paused:
            self._is_read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
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
        """Wait until the client takes more."""
        await self._writable.wait()


class ExchangeConnection(Protocol):
    """The connection, as an exchange sees it."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    flow: FlowControl

    def on_response_complete(self) -> None:
        """Continue with the next request."""


class Exchange(ABC):
    """One request and its response. The connection adds the body as it arrives.

    `more_body`: the body is not complete. `keep_alive`: the connection stays open after the response.
    """

    def __init__(self, wire: ExchangeConnection, method: str, *, keep_alive: bool, expects_100: bool):
        """expects_100: the client waits for `100 Continue` before it sends the body."""
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
        """Respond; the connection starts this when it is the request's turn."""

    def add_body_part(self, part: bytes) -> None:
        """Take a part of the body; too many unread parts pause the connection."""
        if self.response_complete:
            return
        self.body += part
        if len(self.body) > HIGH_WATER_BYTES:
            self._wire.flow.pause_reading()
        self._changed.set()

    def end_body(self) -> None:
        """Note that the body is complete."""
        if not self.response_complete:
            self.more_body = False
            self._changed.set()

    def disconnect(self) -> None:
        """Note that the client has closed the connection."""
        self.disconnected = not self.response_complete
        self._changed.set()

    async def _wait_for_body(self) -> None:
        """Wait for more of the body, its end, or the end of the connection."""
        if self._expects_100:
            self._expects_100 = False
            self._wire.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._wire.flow.resume_reading()
        await self._changed.wait()
        self._changed.clear()

    def _complete_response(self) -> None:
        """End the response: close the connection or continue with its next request."""
        self.response_complete = True
        self._changed.set()
        if not self.keep_alive:
            self._wire.transport.close()
        self._wire.on_response_complete()


@cache
def status_line(status: int) -> bytes:
    """Return the first line of a response; the phrase is empty for an unregistered status."""
    return f"HTTP/1.1 {status} {responses.get(status, '')}\r\n".encode("ascii")
