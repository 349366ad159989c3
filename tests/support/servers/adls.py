"""A stand-in for the ADLS Gen2 endpoint that checks each request of `headwater ingest`.

It follows Microsoft's reference (Path - List, Path - Delete, Get Blob, Get Blob Properties, Authorize with Shared Key).
It answers other requests with 400 and adds them to `wrong`. It tests our requests, not the service.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

ACCOUNT, CONTAINER = "acct", "events"
KEY = base64.b64encode(b"a key of the tests").decode()
PAGE = 3
"""Number of paths in a page, whatever the request asks for. The service may also return fewer."""
_VERSION = re.compile(r"20\d\d-\d\d-\d\d")
_SIGNED = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
]


@dataclass
class StoredFile:
    """A stored file."""

    content: bytes
    modified: datetime
    version: int

    @property
    def etag(self) -> str:
        return f"0x8DE{self.version:013X}"


@dataclass
class DfsServer:
    """One container.

    requests: method and path with query, in order. wrong: requests that the protocol does not allow. faults: errors to
    answer first, in order. denied: methods for which the client lacks the role.
    """

    files: dict[str, StoredFile] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    address: str = ""
    _versions: int = 0
    _pages: dict[str, tuple[dict[str, str], list[str]]] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, str]:
        """Return the storage options that lead to this server."""
        return {"endpoint": self.address, "account_name": ACCOUNT, "account_key": KEY}

    def put(self, path: str, content: bytes, modified: str = "2026-03-02T10:00:00+00:00") -> None:
        """Create or replace a file."""
        self._versions += 1
        self.files[path] = StoredFile(content, datetime.fromisoformat(modified), self._versions)

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Check a request against the protocol, then answer it."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        path = unquote(parts.path).removeprefix(f"/{ACCOUNT}/{CONTAINER}").strip("/")
        self.requests.append(f"{method} {path}?{parts.query}")
        if fault := _fault(method, parts.path, query, headers):
            self.wrong.append(f"{method} {target}: {fault}")
            return _error(400, "InvalidInput", fault)
        if self.faults or method in self.denied:
            status, code = self.faults.pop(0) if self.faults else (403, "AuthorizationPermissionMismatch")
            return _error(status, code, "as the test wants it")
        if query.get("resource") == "filesystem":
            return self._list(query)
        if path not in self.files:
            is_folder = any(each.startswith(f"{path}/") for each in self.files)
            if method == "HEAD" and is_folder:
                return 200, {"x-ms-meta-hdi_isfolder": "true", "Content-Length": "0", **_ABOUT_FOLDER}, b""
            return _error(404, "PathNotFound" if method == "DELETE" else "BlobNotFound", "no such file")
        return self._of_file(method, path, headers)

    def _list(self, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        folder = query.get("directory", "")
        asked: dict[str, str] = {name: query[name] for name in ("directory", "recursive") if name in query}
        if token := query.get("continuation"):
            if self._pages.get(token, ({}, []))[0] != asked:
                self.wrong.append(f"continuation {token!r} is of another listing")
                return _error(400, "InvalidInput", "continuation")
            names = self._pages[token][1]
        else:
            prefix = f"{folder}/" if folder else ""
            below = sorted(each.removeprefix(prefix) for each in self.files if each.startswith(prefix))
            if not below:
                return _error(404, "PathNotFound", "no such folder")
            names = [prefix + each for each in _shown(below, recursive=query["recursive"] == "true")]
        page, rest = names[:PAGE], names[PAGE:]
        headers = {"Content-Type": "application/json"}
        if rest:
            headers["x-ms-continuation"] = token = f"page+{len(self._pages)}/="
            self._pages[token] = (asked, rest)
        return 200, headers, json.dumps({"paths": [self._entry(each) for each in page]}).encode()

    def _entry(self, name: str) -> dict[str, str]:
        if name not in self.files:
            return {"name": name, "isDirectory": "true", "lastModified": _ABOUT_FOLDER["Last-Modified"], "etag": "0x1"}
        file = self.files[name]
        return {
            "name": name, "contentLength": str(len(file.content)), "etag": file.etag,
            "lastModified": format_datetime(file.modified, usegmt=True), "creationTime": "133000000000000000",
        }  # fmt: skip

    def _of_file(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        file = self.files[path]
        if headers.get("if-match", f'"{file.etag}"') != f'"{file.etag}"':
            return _error(412, "ConditionNotMet", "another version")
        about = {"ETag": f'"{file.etag}"', "Last-Modified": format_datetime(file.modified, usegmt=True)}
        about["x-ms-blob-type"] = "BlockBlob"
        if method == "DELETE":
            del self.files[path]
            return 200, {}, b""
        if method == "HEAD":
            return 200, {**about, "Content-Length": str(len(file.content))}, b""
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", headers["x-ms-range"])
        begin, end = (int(each) for each in found.groups()) if found else (0, -1)
        if not found or begin > end:
            self.wrong.append(f"range {headers['x-ms-range']!r}")
            return _error(400, "InvalidHeaderValue", "range")
        if begin >= len(file.content):
            return _error(416, "InvalidRange", "beyond the end")
        part = file.content[begin : end + 1]
        about["Content-Range"] = f"bytes {begin}-{begin + len(part) - 1}/{len(file.content)}"
        return 206, about, part


@contextlib.contextmanager
def dfs_server() -> Iterator[DfsServer]:
    """Serve a container. At the end, checks that all requests followed the protocol."""
    stored = DfsServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"stored": stored}))
    server.daemon_threads = True
    stored.address = f"http://127.0.0.1:{server.server_port}/{ACCOUNT}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield stored
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert stored.wrong == []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stored: DfsServer

    def _serve(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, about, text = self.stored.answer(self.command, self.path, headers)
        self.send_response(status)
        about = {"Content-Length": str(len(text)), "x-ms-request-id": "a", "x-ms-version": "2026-02-06", **about}
        for name, value in about.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_DELETE = do_PUT = do_POST = do_PATCH = _serve  # noqa: N815 - names of http.server

    def log_message(self, *_: Any) -> None:
        """Do not log requests."""


_ABOUT_FOLDER = {"Last-Modified": "Sun, 01 Mar 2026 10:00:00 GMT", "ETag": '"0x1"'}


def _fault(method: str, path: str, query: dict[str, str], headers: Mapping[str, str]) -> str | None:
    """Return how a request violates the protocol, or None."""
    late_s = (parsedate_to_datetime(headers.get("x-ms-date", "")) - datetime.now(UTC)).total_seconds()
    is_list = query.get("resource") == "filesystem"
    known = {"resource", "directory", "recursive", "maxResults", "continuation"}
    asks = (
        (_VERSION.fullmatch(headers.get("x-ms-version", "")), "x-ms-version is missing"),
        (abs(late_s) < 900, "x-ms-date is not now"),
        (
            headers.get("authorization") == _signature(method, path, query, headers),
            "the signature is of another request",
        ),
        (unquote(path).startswith(f"/{ACCOUNT}/{CONTAINER}"), "another container"),
        (not is_list or (method == "GET" and query.keys() <= known), "no listing"),
        (not is_list or query.get("recursive") in ("true", "false"), "a listing says whether it goes deep"),
        (not is_list or 0 < int(query.get("maxResults", "1")) <= 5000, "a page has up to 5000 paths"),
        (is_list or (method in ("GET", "HEAD", "DELETE") and not query), "no request for a file"),
        (is_list or method != "GET" or "x-ms-range" in headers, "a whole file is asked for, which may be of any size"),
        (method != "DELETE" or "if-match" in headers, "a file is deleted whatever it holds now"),
    )
    return next((fault for holds, fault in asks if not holds), None)


def _signature(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    """Return the Authorization header by Microsoft's rules for shared keys (version 2015-02-21 and later)."""
    named = {**headers, "date": "", "range": headers.get("range", "")}
    if named.get("content-length") == "0":
        named["content-length"] = ""
    own = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers) if name.startswith("x-ms-"))
    resource = f"/{ACCOUNT}{path}" + "".join(f"\n{name.lower()}:{query[name]}" for name in sorted(query))
    text = method + "\n" + "".join(f"{named.get(name, '')}\n" for name in _SIGNED) + own + resource
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    return f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"


def _shown(below: list[str], *, recursive: bool) -> list[str]:
    folders = {each[:at] for each in below for at, sign in enumerate(each) if sign == "/"}
    shown = sorted({*below, *folders})
    return shown if recursive else [each for each in shown if "/" not in each]


def _error(status: int, code: str, message: str) -> tuple[int, dict[str, str], bytes]:
    text = json.dumps({"error": {"code": code, "message": message}}).encode()
    return status, {"x-ms-error-code": code, "Content-Type": "application/json"}, text
