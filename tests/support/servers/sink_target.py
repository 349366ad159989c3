"""A sink target that a test scripts: it refuses, fails, slows down or hangs up, and records the accepted events."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.waiting import rest

PATIENCE_S = 60.0


@dataclass(frozen=True)
class Slowness:
    """An answer that never completes.

    `at_once` bytes arrive immediately. The rest arrives byte by byte, or not at all if `is_silent`.
    """

    at_once: int = 0
    is_silent: bool = False


@dataclass(frozen=True)
class Said:
    """An answer.

    hang_up: close the connection without an answer. slow: do not complete the answer until the server is `awake`.
    """

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_up: bool = False
    slow: Slowness | None = None


@dataclass(frozen=True)
class Asked:
    """A request: its events, sent singly or as a batch, and its headers in lower case."""

    path: str
    events: list[Any]
    headers: Mapping[str, str]
    method: str = "POST"


class SinkServer:
    """A local HTTP server. `answer` answers each request, and `taken` contains the events answered with 2xx."""

    def __init__(self) -> None:
        self.answer: Callable[[Asked], Said] = lambda _: Said()
        self.asked: list[Asked] = []
        self.taken: list[Any] = []
        self.awake = threading.Event()
        """When set, slow answers end, including those in progress."""
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition on the requests or the accepted events is true."""
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE_S), (
                f"timeout after {len(self.asked)} requests and {len(self.taken)} accepted events"
            )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, asked: Asked) -> Said:
        said = self.answer(asked)
        with self._changed:
            self.asked.append(asked)
            if 200 <= said.status < 300 and not said.hang_up and not said.slow:
                self.taken += asked.events
            self._changed.notify_all()
        return said


@contextmanager
def sink_server() -> Iterator[SinkServer]:
    server = SinkServer()
    try:
        yield server
    finally:
        server.awake.set()
        server.close()


def _handler(server: SinkServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = (
            # head and body are two writes: with Nagle's algorithm the second would wait 40 ms for an acknowledgement
            True
        )

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["content-length"]))
            value = json.loads(text) if self.headers["content-type"] == "application/json" else text.decode()
            self._take(value if isinstance(value, list) else [value])

        def do_GET(self) -> None:
            self._take([])

        def do_DELETE(self) -> None:
            self._take([])

        def _take(self, events: list[Any]) -> None:
            headers = {name.lower(): text for name, text in self.headers.items()}
            self._say(server.take(Asked(self.path, events, headers, self.command)))

        def _say(self, said: Said) -> None:
            if said.hang_up:
                self.close_connection = True
                return
            if said.slow:
                self._dawdle(said.slow, said.body)
                return
            self.send_response(said.status)
            for name, text in {"content-length": str(len(said.body)), **said.headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(said.body)
            # the header announces more bytes than the body has
            self.close_connection = "content-length" in said.headers

        def _dawdle(self, slow: Slowness, body: bytes) -> None:
            """Send bytes more slowly than any deadline allows, until the server is awake or the client disconnects."""
            self.close_connection = True
            head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body) + 9000}\r\n\r\n".encode()
            whole = head + body + b" " * 9000
            with suppress(OSError):
                self.wfile.write(whole[: slow.at_once])
                for byte in b"" if slow.is_silent else whole[slow.at_once :]:
                    self.wfile.write(bytes([byte]))
                    if server.awake.wait(0.05):
                        return
            server.awake.wait(PATIENCE_S)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def eventually(holds: Callable[[], Any]) -> None:
    """Poll a condition that no event announces, such as rows of a table or a file of another process."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, holds
        rest()
