"""Let an ASGI application respond to a request on its connection (ASGI 3.0, HTTP messages of version 2.3)."""

import asyncio
import logging
import re
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Scope

from headwater.operations.local.exchange import Exchange, ExchangeConnection, status_line

_NO_NAME = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_NO_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters that a header value must not contain: a line break would start another header or the body (RFC 9110)."""

_WITHOUT_BODY = (204, 304)

log = logging.getLogger(__name__)


class AsgiExchange(Exchange):
    """A request that the application handles."""

    def __init__(self, app: ASGIApp, wire: ExchangeConnection, scope: Scope, *, keep_alive: bool, expects_100: bool):
        super().__init__(wire, scope["method"], keep_alive=keep_alive, expects_100=expects_100)
        self._app = app
        self._scope = scope
        self._started = False
        self._is_chunked = False
        self._missing = 0
        """Number of bytes of the announced body that the application has not sent yet."""

    async def run(self) -> None:
        """Let the application respond. If it fails, send 500; after a partial response, close the connection."""
        try:
            await self._app(self._scope, self._receive, self._send)
        except asyncio.CancelledError:  # the server stops, and its grace period is over
            self._wire.transport.close()
            raise
        except Exception:
            log.exception("The API failed to respond to %s %s. Report this.", self._method, self._scope["path"])
        else:
            if not self._started and not self.disconnected:
                log.error("The API did not respond to %s %s. Report this.", self._method, self._scope["path"])
        if self.response_complete or self.disconnected:
            return
        if self._started:
            self._wire.transport.close()
        else:
            await self._send_error()

    async def _send_error(self) -> None:
        body = b"Internal Server Error"
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        await self._send({"type": "http.response.start", "status": 500, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def _receive(self) -> Message:
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        await self._wait_for_body_part()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        part, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": part, "more_body": self.more_body}

    async def _send(self, message: Message) -> None:
        if self._wire.flow.is_write_paused and not self.disconnected:
            await self._wire.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start" and not self._started:
            self._start_response(message["status"], message.get("headers", ()))
        elif message["type"] == "http.response.body" and self._started and not self.response_complete:
            self._send_body(message.get("body", b""), is_last=not message.get("more_body", False))
        else:
            raise RuntimeError(f"{message['type']} is out of order.")

    def _start_response(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        lines, length, is_chunked = [status_line(status)], None, False
        for name, value in headers:
            if _NO_NAME.search(name) or _NO_VALUE.search(value):
                raise RuntimeError(f"{name!r} is not a valid header.")
            kind = name.lower()
            if kind == b"content-length":
                length = int(value)
            elif kind == b"transfer-encoding":
                is_chunked = value.lower() == b"chunked"
            elif kind == b"connection" and b"close" in [token.strip() for token in value.lower().split(b",")]:
                self.keep_alive = False
                continue
            lines.append(b"%b: %b\r\n" % (kind, value))
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        if length is None and not is_chunked and self._method != "HEAD" and status not in _WITHOUT_BODY:
            is_chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        self._started = True
        self._expects_100 = False
        self._is_chunked = is_chunked
        self._missing = 0 if is_chunked or self._method == "HEAD" else length or 0
        self._wire.transport.write(b"".join((*lines, b"\r\n")))

    def _send_body(self, body: bytes, *, is_last: bool) -> None:
        if self._method != "HEAD":
            self._write_body(body, is_last=is_last)
        if is_last:
            self._complete_response()

    def _write_body(self, body: bytes, *, is_last: bool) -> None:
        if self._is_chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            self._wire.transport.write(chunk + b"0\r\n\r\n" if is_last else chunk)
            return
        self._missing -= len(body)
        if self._missing < 0 or (is_last and self._missing):
            raise RuntimeError("The body does not have the length that its header announces.")
        self._wire.transport.write(body)
