"""A connection of `serve`: uvicorn's, with additional limits and our own error responses.

uvicorn waits without limit for slow headers, accepts headers of any size, closes a connection whose client has closed
its sending side, and drops the body after an upgrade offer. A client could use each of these to do harm or lose a
response.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, cast
from urllib.parse import unquote_to_bytes

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from headwater.common.answer_headers import ANSWER_HEADERS
from headwater.intake.receiver import Refusal
from headwater.operations.local.intake import Handler, IntakeCycle

MAX_UNMATCHED_BYTES = 64 << 10
"""Maximum number of received bytes that complete neither a request nor a part of a body."""

_PART_BYTES = 16 << 10
"""Parsed in one step; limits how many pipelined requests are in memory, however many a client sends."""

Headers = Mapping[str, str]


class Host(Protocol):
    """What a connection needs from its server."""

    timeout_s: float
    """Limit from connecting, or from a request's first byte, to the end of its headers; and again for its body."""

    def find(self, method: str, path: str, headers: Headers) -> Handler | None:
        """Return the receiver's handler for a request, None if the ASGI application handles it."""

    def refuse(self, refusal: Refusal) -> None:
        """Count bytes that never become a request."""


def connection_class(host: Host) -> type[HttpToolsProtocol]:
    """Return the connection class of one server."""
    return type("Connection", (_Connection,), {"host": host})


class _Connection(HttpToolsProtocol):
    host: Host

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._unread = b""
        self._unmatched_bytes = 0
        self._is_replaying = False
        self._lines: dict[str, str] = {}
        self._running: RequestResponseCycle | None = None
        self._stalled = False
        self._idle_from = self.loop.time()
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.host.timeout_s, self._too_slow)
        self._idle = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._idle:
            self._idle.cancel()
        if self._running and self._running is not self.cycle:  # pipelined requests are waiting
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        self._parse_unread()
        if self.pipeline:
            self.flow.pause_reading()
        elif self._timer is None and not self.transport.is_closing() and self._between_requests():
            self._timer = self.loop.call_later(self.host.timeout_s, self._too_slow)

    def _parse_unread(self) -> None:
        """Parse received bytes, unless pipelined requests are waiting; then the bytes wait, too."""
        while self._unread and not self.pipeline and not self.transport.is_closing():
            part, self._unread = self._unread[:_PART_BYTES], self._unread[_PART_BYTES:]
            self._unmatched_bytes += len(part)
            try:
                self.parser.feed_data(part)
            except httptools.HttpParserUpgrade as offer:
                self._unread = part[offer.args[0] :] + self._unread
                self._ignore_upgrade()
            except httptools.HttpParserError:
                self._refuse(400, "not_http", "This is not an HTTP request.", "Send HTTP/1.1 according to RFC 9112.")
            if self._unmatched_bytes > MAX_UNMATCHED_BYTES:
                what = f"The headers have more than {MAX_UNMATCHED_BYTES} bytes."
                self._refuse(431, "headers_too_large", what, "Send fewer headers.")

    def eof_received(self) -> bool:  # type: ignore[override] # asyncio: true keeps our half open
        """Respond to requests received before the client closed its sending side, then close."""
        if self._between_requests():
            if self._unmatched_bytes:
                self._refuse(400, "cut_off", "The connection ended before the headers did.", "Send the whole request.")
            return False
        if self.cycle.more_body:
            self._refuse(400, "cut_off", "The connection ended before the body did.", "Send the whole request.")
            return False
        self.cycle.keep_alive = False
        return True

    def on_message_begin(self) -> None:
        if not self._is_replaying:
            self.url = b""
            self._lines = {}

    def on_url(self, url: bytes) -> None:
        if not self._is_replaying:
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_replaying:
            line = name.lower().decode("latin-1")
            again = f"{self._lines['host']}, " if line == "host" and line in self._lines else ""
            self._lines[line] = again + value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._unmatched_bytes = 0
        if self._is_replaying:
            return
        self._stop_timer()
        if not self._begin_intake():
            self._timer = self.loop.call_later(self.host.timeout_s, self._too_slow)  # uvicorn's cycle has no timeout
            self._begin_asgi()

    def on_body(self, body: bytes) -> None:
        self._unmatched_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unmatched_bytes = 0
        if not self.parser.should_upgrade():
            self._stop_timer()
            super().on_message_complete()

    def _ignore_upgrade(self) -> None:
        """Ignore an upgrade offer, as HTTP allows: Java's HTTP client offers h2c with each POST.

        The parser stops at such headers, before the body, so a new parser gets the length of the body and continues.
        """
        framing = [line for line in self._lines.items() if line[0] in ("content-length", "transfer-encoding")]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # like uvicorn
        self._is_replaying = True
        head = "POST / HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in framing) + "\r\n"
        self.parser.feed_data(head.encode("latin-1"))
        self._is_replaying = False

    def _begin_intake(self) -> bool:
        """Start the short path of a posted event; returns False for any other request."""
        path, _, query = self.url.partition(b"?")
        if b"%" in path or not path.startswith(b"/"):
            path = unquote_to_bytes(httptools.parse_url(self.url).path or b"")
        handler = self.host.find(self.parser.get_method().decode("ascii"), path.decode("latin-1"), self._lines)
        if handler is None:
            return False
        keep_alive = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        cycle = IntakeCycle(
            handler, self, self._lines, query.decode("latin-1"), keep_alive=keep_alive, timeout_s=self.host.timeout_s
        )
        before, self.cycle = self.cycle, cast("RequestResponseCycle", cycle)
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:  # sent before the response to the previous request
            self.pipeline.appendleft((self.cycle, self.app))
        return True

    def _begin_asgi(self) -> None:
        """Let uvicorn build its scope and cycle for the request."""
        url = self.url
        super().on_message_begin()
        self.url = url
        for name, value in self._lines.items():
            super().on_header(name.encode("latin-1"), value.encode("latin-1"))
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Continue with the next request; one idle timer per connection replaces uvicorn's timer per request."""
        self.server_state.total_requests += 1
        self._idle_from = self.loop.time()
        self._next_request()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled:
            self._stalled = False
            self._next_request()

    def _next_request(self) -> None:
        """Start the next request and resume reading if none waits; paused while the client does not read responses."""
        if self.transport.is_closing():
            return
        if self.flow.write_paused:
            self._stalled = True
            self.flow.pause_reading()
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        self._parse_unread()
        if not self.pipeline:
            self.flow.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _close_if_idle(self) -> None:
        left = self._idle_from + self.timeout_keep_alive - self.loop.time()
        if left <= 0 and self._between_requests():
            self.transport.close()
        else:
            self._idle = self.loop.call_later(max(left, 1.0), self._close_if_idle)

    def _between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self._unmatched_bytes:
            what = f"The headers did not arrive within {self.host.timeout_s:g} s."
            self._refuse(408, "slow_headers", what, "Send them without pauses.")
        else:
            self.transport.close()

    def _refuse(self, status: int, reason: str, what: str, fix: str) -> None:
        """Respond on the raw connection and close it, because there is no request to respond to."""
        if self.transport.is_closing():
            return
        refusal = Refusal(status, reason, what, fix)
        self.host.refuse(refusal)
        answer = refusal.answer()
        self.transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\nconnection: close\r\n\r\n%b"
            % (status, _PHRASES[status], _HEADERS, len(answer.body), answer.body)
        )
        self.transport.close()


_HEADERS = "".join(f"{name}: {value}\r\n" for name, value in ANSWER_HEADERS.items()).encode()
_PHRASES = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}
