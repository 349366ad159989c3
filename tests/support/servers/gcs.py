"""A stand-in for Google Cloud Storage that serves the requests of delta-rs and obstore: objects of a bucket.

It follows Google's reference of the XML API (PUT, GET, HEAD and DELETE Object, List Objects version 2, the precondition
`x-goog-if-generation-match`). It answers other requests with 400 and adds them to `wrong`. It tests our requests, not
the service. The common emulator fake-gcs-server does not accept a PUT of this API.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_NO_SUCH_KEY = b"<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>"
_NO_SUCH_BUCKET = b"<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist.</Message></Error>"
_ONCE = b"<Error><Code>PreconditionFailed</Code></Error>"


@dataclass
class GcsServer:
    """One bucket, `lake`.

    refused: number of failed preconditions. wrong: requests that the API does not have. is_heeding: whether the server
    checks preconditions. Google always does, but some stores with S3's protocol do not.
    """

    objects: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    url: str = ""
    is_heeding: bool = True
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    @property
    def options(self) -> dict[str, str]:
        """Return the storage options that lead to this server."""
        empty = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        key = {"gcs_base_url": self.url, "disable_oauth": True, **empty}
        return {"google_service_account_key": json.dumps(key), "allow_http": "true"}

    def put(self, name: str, content: bytes, generation: str | None) -> int:
        """Write an object and return the status. If `generation` is 0, the object must not exist yet."""
        with self.one_at_a_time:
            if generation == "0" and name in self.objects and self.is_heeding:
                self.refused += 1
                return 412
            self.objects[name] = content, f'"{len(self.objects)}-{hash(content):x}"'
            return 200

    def listed(self, query: dict[str, list[str]]) -> bytes:
        """List objects by prefix, and return the folders up to the delimiter as common prefixes."""
        prefix, after = query.get("prefix", [""])[0], query.get("start-after", [""])[0]
        delimiter = query.get("delimiter", [""])[0]
        with self.one_at_a_time:
            found = {name: self.objects[name] for name in sorted(self.objects) if name.startswith(prefix)}
        parts, folders = [], set()
        for name, (content, etag) in found.items():
            below = name.removeprefix(prefix)
            if delimiter and delimiter in below:
                folders.add(prefix + below.partition(delimiter)[0] + delimiter)
            elif name > after:
                parts.append(
                    f"<Contents><Key>{escape(name)}</Key><LastModified>{_now().isoformat()}</LastModified>"
                    f"<ETag>{escape(etag)}</ETag><Size>{len(content)}</Size></Contents>"
                )
        parts += [f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(folders)]
        return f"<ListBucketResult><Name>lake</Name>{''.join(parts)}</ListBucketResult>".encode()


def _now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def running_gcs() -> Iterator[GcsServer]:
    state = GcsServer()

    class Handler(_Handler):
        server_state = state

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: GcsServer

    def _serve(self) -> None:
        state, parts = self.server_state, urlsplit(self.path)
        bucket, _, name = unquote(parts.path).lstrip("/").partition("/")
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if bucket != "lake":
            return self._answer(404, _NO_SUCH_BUCKET)
        if self.command == "GET" and not name and "list-type=2" in parts.query:
            return self._answer(200, state.listed(parse_qs(parts.query)))
        if self.command == "PUT" and name and not parts.query:
            status = state.put(name, body, self.headers.get("x-goog-if-generation-match"))
            return self._answer(status, _ONCE if status == 412 else b"", state.objects[name][1])
        if self.command in ("GET", "HEAD", "DELETE") and name and not parts.query:
            return self._of_object(name)
        state.wrong.append(f"{self.command} {self.path}")
        return self._answer(400, b"")

    def _of_object(self, name: str) -> None:
        with self.server_state.one_at_a_time:
            found = self.server_state.objects.get(name)
            if found and self.command == "DELETE":
                del self.server_state.objects[name]
        if found is None:
            return self._answer(404, _NO_SUCH_KEY)
        content, etag = found
        if self.command == "DELETE":
            return self._answer(204, b"")
        if wanted := self.headers.get("range"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start = int(first) if first else max(0, len(content) - int(last))
            end = min(len(content), int(last) + 1 if first and last else len(content))
            about = {"content-range": f"bytes {start}-{end - 1}/{len(content)}"}
            return self._answer(206, content[start:end], etag, **about)
        return self._answer(200, content, etag)

    do_GET = do_HEAD = do_PUT = do_DELETE = _serve  # noqa: N815 - as http.server calls them

    def _answer(self, status: int, body: bytes, etag: str = "", **more: str) -> None:
        self.send_response(status)
        if etag:
            self.send_header("etag", etag)
            self.send_header("last-modified", format_datetime(_now(), usegmt=True))
            self.send_header("x-goog-generation", "1")
        for header, value in more.items():
            self.send_header(header, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Do not log requests."""
