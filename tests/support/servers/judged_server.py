"""A stand-in for an HTTP API on loopback: a function checks and answers each request, and the server records them."""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Asked(NamedTuple):
    """A GET request."""

    path: str
    query: dict[str, str]
    headers: Mapping[str, str]


Answered = tuple[int, dict[str, str], Any]
"""Status, headers, and a body: bytes are sent unchanged, other values as JSON."""


class JudgedServer:
    """Listens on a free port until its `with` block ends."""

    def __init__(self, judge: Callable[[Asked], Answered]) -> None:
        self.asked: list[Asked] = []
        kept = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                kept.append(Asked(url.path, dict(parse_qsl(url.query)), headers))
                status, more, said = judge(kept[-1])
                body = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                for name, value in {**more, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Do not log requests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "JudgedServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
