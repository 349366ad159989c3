"""A connection of `serve`: HTTP/1.1 on httptools, with limits on the size and the duration of requests.

A posted event goes to the receiver without ASGI messages, which saves CPU (docs/decisions/0125). The ASGI application
handles all other requests. Limits, pipelining and error responses are the same for both.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol, cast
from urllib.parse import unquote, unquote_to_bytes

import httptools
from starlette.types import Receive, Scope, Send

from headwater.common.json_headers import ANSWER_HEADERS
from headwater.intake.receiver import Refusal
from headwater.operations.local.asgi import AsgiExchange
from headwater.operations.local.exchange import Exchange, FlowControl, status_line
from headwater.operations.local.intake import Handler, IntakeExchange

KEEP_ALIVE_S = 75.0
"""Seconds after which an unused connection is closed."""

MAX_UNMATCHED_BYTES = 64 << 10
"""Maximum number of received bytes that complete neither a request nor a part of a body."""

_PART_BYTES = 16 << 10
"""Number of bytes to parse in one step. It limits the number of pipelined requests in memory."""

Headers = Mapping[str, str]


class ConnectionHost(Protocol):
    """The server of a connection. It is also the ASGI application for requests that the receiver does not handle."""

    timeout_s: float
    """Maximum seconds until the headers of a request are complete, and again until its body is complete.

    The time starts with the connection or, for a later request, with its first byte.
    """

    def find_handler(self, method: str, path: str, headers: Headers) -> Handler | None:
        """Return the receiver's handler for a request, None if the ASGI application handles it."""

    def count_refusal(self, refusal: Refusal) -> None:
        """Count a refusal of bytes that are not a complete request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request that is not a posted event."""


class ServerActivity:
    """The open connections and running requests of a server."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        """Set when the server has stopped, all connections are closed and no request is running."""
        self._connections: set[Connection] = set()
        self._is_stopping = False

    def add_connection(self, connection: "Connection") -> None:
        """Add an open connection. Closes the connection if the server is stopping."""
        self._connections.add(connection)
        if self._is_stopping:
            connection.stop()

    def remove_connection(self, connection: "Connection") -> None:
        """Remove a closed connection."""
        self._connections.discard(connection)
        self._check_if_idle()

    def start_exchange(self, exchange: Exchange, loop: asyncio.AbstractEventLoop) -> None:
        """Run an exchange in a task of the event loop, and track the task until it ends."""
        task = loop.create_task(exchange.run())
        self.tasks.add(task)
        task.add_done_callback(self._remove_task)

    def stop_connections(self) -> None:
        """Close each connection after it has responded to the requests that it has received."""
        self._is_stopping = True
        for connection in list(self._connections):
            connection.stop()
        self._check_if_idle()

    def _remove_task(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._check_if_idle()

    def _check_if_idle(self) -> None:
        if self._is_stopping and not self._connections and not self.tasks:
            self.ended.set()


class Connection(asyncio.Protocol):
    """The connection of one client. Its requests run one after another, even if they arrive together."""

    transport: asyncio.Transport
    flow: FlowControl

    def __init__(self, host: ConnectionHost, activity: ServerActivity, loop: asyncio.AbstractEventLoop):
        self.loop = loop
        self._host = host
        self._activity = activity
        self._parser = _new_parser(self)
        self._url = b""
        self._lines: dict[str, str] = {}
        self._last: Exchange | None = None
        """The newest request: its headers or its body are arriving or have arrived."""
        self._running: Exchange | None = None
        self._waiting: deque[Exchange] = deque()
        self._unread = b""
        self._unmatched_bytes = 0
        self._is_replaying = False
        self._stalled = False
        self._timer: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._idle_from = loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport is not a subclass of asyncio.Transport
        self.flow = FlowControl(self.transport)
        self._timer = self.loop.call_later(self._host.timeout_s, self._refuse_slow_request)
        self._idle = self.loop.call_later(KEEP_ALIVE_S, self._close_if_idle)
        self._activity.add_connection(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._activity.remove_connection(self)
        self._stop_timer()
        if self._idle:
            self._idle.cancel()
        for exchange in {self._running, self._last}:
            if exchange:
                exchange.disconnect()
        self.flow.resume_writing()
        self._parser = None  # breaks the reference cycle of parser and connection

    def stop(self) -> None:
        """Close the connection after it has responded to the requests that it has received."""
        if self._last is None or self._last.response_complete:
            self.transport.close()
        else:
            self._last.keep_alive = False

    def pause_writing(self) -> None:
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        self.flow.resume_writing()
        if self._stalled:
            self._stalled = False
            self._next_request()

    def data_received(self, data: bytes) -> None:
        self._unread += data
        self._parse_unread()
        if self._waiting:
            self.flow.pause_reading()
        elif self._timer is None and not self.transport.is_closing() and self._is_between_requests():
            self._timer = self.loop.call_later(self._host.timeout_s, self._refuse_slow_request)

    def _parse_unread(self) -> None:
        """Parse the received bytes. While pipelined requests wait, leave the bytes unparsed."""
        while self._unread and not self._waiting and not self.transport.is_closing():
            part, self._unread = self._unread[:_PART_BYTES], self._unread[_PART_BYTES:]
            self._unmatched_bytes += len(part)
            try:
                self._parser.feed_data(part)
            except httptools.HttpParserUpgrade as offer:
                self._unread = part[offer.args[0] :] + self._unread
                self._ignore_upgrade()
            except httptools.HttpParserError:
                self._refuse_and_close(
                    400, "not_http", "This is not an HTTP request.", "Send HTTP/1.1 according to RFC 9112."
                )
            if self._unmatched_bytes > MAX_UNMATCHED_BYTES:
                what = f"The headers have more than {MAX_UNMATCHED_BYTES} bytes."
                self._refuse_and_close(431, "headers_too_large", what, "Send fewer headers.")

    def eof_received(self) -> bool:
        """Respond to requests received before the client closed its sending side, then close."""
        if self._last is None or self._last.response_complete:
            if self._unmatched_bytes:
                self._refuse_and_close(
                    400, "cut_off", "The connection ended before the headers did.", "Send the whole request."
                )
            return False
        if self._last.more_body:
            self._refuse_and_close(
                400, "cut_off", "The connection ended before the body did.", "Send the whole request."
            )
            return False
        self._last.keep_alive = False
        return True  # keep the sending side open for the responses

    def on_message_begin(self) -> None:
        if not self._is_replaying:
            self._url = b""
            self._lines = {}

    def on_url(self, url: bytes) -> None:
        if not self._is_replaying:
            self._url += url

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
        method = self._parser.get_method().decode("ascii")
        version = self._parser.get_http_version()
        keep_alive = version != "1.0" and self._parser.should_keep_alive()
        exchange = self._intake_exchange(method, keep_alive) or self._asgi_exchange(method, version, keep_alive)
        is_first = self._is_between_requests()
        self._last = exchange
        if is_first:
            self._start_exchange(exchange)
        else:  # pipelined: the client sent it before the response to the previous request
            self.flow.pause_reading()
            self._waiting.append(exchange)

    def on_body(self, body: bytes) -> None:
        self._unmatched_bytes = 0
        if self._last:
            self._last.add_body_part(body)

    def on_message_complete(self) -> None:
        self._unmatched_bytes = 0
        if self._last and not self._parser.should_upgrade():
            self._stop_timer()
            self._last.end_body()

    def _ignore_upgrade(self) -> None:
        """Ignore an upgrade offer, as HTTP allows. Java's HTTP client offers an upgrade to h2c with each POST.

        The parser stops after headers with such an offer. A new parser gets the length of the body and parses the rest.
        """
        framing = [line for line in self._lines.items() if line[0] in ("content-length", "transfer-encoding")]
        self._parser = _new_parser(self)
        self._is_replaying = True
        head = "POST / HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in framing) + "\r\n"
        self._parser.feed_data(head.encode("latin-1"))
        self._is_replaying = False

    def _intake_exchange(self, method: str, keep_alive: bool) -> Exchange | None:
        """Return the exchange of a posted event, None for any other request."""
        path, _, query = self._url.partition(b"?")
        if b"%" in path or not path.startswith(b"/"):
            path = unquote_to_bytes(httptools.parse_url(self._url).path or b"")
        handler = self._host.find_handler(method, path.decode("latin-1"), self._lines)
        return handler and IntakeExchange(
            handler, self, method, self._lines, query.decode("latin-1"),
            keep_alive=keep_alive, expects_100=self._expects_100(), timeout_s=self._host.timeout_s,
        )  # fmt: skip

    def _asgi_exchange(self, method: str, version: str, keep_alive: bool) -> Exchange:
        # The timer limits only the wait for the body, because an ASGI application sets no time limit for it.
        self._timer = self.loop.call_later(self._host.timeout_s, self._refuse_slow_request)
        target = httptools.parse_url(self._url)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": version,
            "method": method,
            "scheme": "http",
            "root_path": "",
            "path": unquote(target.path.decode("ascii")),
            "raw_path": target.path,
            "query_string": target.query or b"",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._lines.items()],
            "server": _socket_address(self.transport, "sockname"),
            "client": _socket_address(self.transport, "peername"),
        }
        return AsgiExchange(self._host, self, scope, keep_alive=keep_alive, expects_100=self._expects_100())

    def _expects_100(self) -> bool:
        return self._lines.get("expect", "").lower() == "100-continue"

    def on_response_complete(self) -> None:
        """Continue with the next request, and restart the connection's only idle timer."""
        self._idle_from = self.loop.time()
        self._next_request()

    def _next_request(self) -> None:
        """Start the next waiting request or, if none waits, resume reading.

        Does nothing while the client does not read its responses.
        """
        if self.transport.is_closing():
            return
        if self.flow.is_write_paused:
            self._stalled = True
            self.flow.pause_reading()
            return
        if self._waiting:
            self._start_exchange(self._waiting.popleft())
        self._parse_unread()
        if not self._waiting:
            self.flow.resume_reading()

    def _start_exchange(self, exchange: Exchange) -> None:
        self._running = exchange
        self._activity.start_exchange(exchange, self.loop)

    def _close_if_idle(self) -> None:
        left = self._idle_from + KEEP_ALIVE_S - self.loop.time()
        if left <= 0 and self._is_between_requests():
            self.transport.close()
        else:
            self._idle = self.loop.call_later(max(left, 1.0), self._close_if_idle)

    def _is_between_requests(self) -> bool:
        return self._last is None or self._last.response_complete

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_slow_request(self) -> None:
        self._timer = None
        if self._unmatched_bytes:
            what = f"The headers did not arrive within {self._host.timeout_s:g} s."
            self._refuse_and_close(408, "slow_headers", what, "Send them without pauses.")
        else:
            self.transport.close()

    def _refuse_and_close(self, status: int, reason: str, what: str, fix: str) -> None:
        """Write an error response without a request, and close the connection.

        reason: the reason for metrics. what, fix: text of the response, and advice for the client.
        """
        if self.transport.is_closing():
            return
        refusal = Refusal(status, reason, what, fix)
        self._host.count_refusal(refusal)
        answer = refusal.answer()
        self.transport.write(
            b"%bcontent-type: application/json\r\n%bcontent-length: %d\r\nconnection: close\r\n\r\n%b"
            % (status_line(status), _HEADERS, len(answer.body), answer.body)
        )
        self.transport.close()


_HEADERS = "".join(f"{name}: {value}\r\n" for name, value in ANSWER_HEADERS.items()).encode()


def _new_parser(connection: Connection) -> Any:
    parser = httptools.HttpRequestParser(connection)
    # A client that sends `Connection: close` and then more bytes still gets its response.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def _socket_address(transport: asyncio.Transport, side: str) -> tuple[str, int] | None:
    """Return the address and the port of one side of a connection, None if it has none.

    side: `sockname` for the server, `peername` for the client.
    """
    address = transport.get_extra_info(side)
    return (str(address[0]), int(address[1])) if address else None
