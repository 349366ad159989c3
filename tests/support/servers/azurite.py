"""Azurite behind a proxy on loopback, which lists blobs and checks tokens as Azure does, and fails on demand.

Azurite ignores `startFrom`, which delta-rs uses to list the log of a table, and accepts tokens only over TLS.
"""

import contextlib
import http.client
import os
import re
import secrets
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from azure.storage.blob import AccountSasPermissions, ContainerClient, ResourceTypes, generate_account_sas

from tools.npm_packages import CACHE, node

_BLOBS = CACHE / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Published by Azurite, and the same in every installation."""

ACCOUNT_KEY = {"account_name": ACCOUNT, "account_key": KEY}

QUICK = {"timeout": "3s", "connect_timeout": "3s", "max_retries": "1", "retry_timeout": "3s"}
"""Storage options with shorter timeouts, so that faults do not take as long as with the defaults."""
PATIENT = {"timeout": "60s", "connect_timeout": "60s", "max_retries": "3", "retry_timeout": "60s"}

FAULTS = {
    "busy": "throttles requests (503 or 429)",
    "throttled": "throttles requests (503 or 429)",
    "broken": "the store has an internal error (5xx)",
    "expired token": "the token has expired",
    "wrong role": "`Storage Blob Data Contributor`",
    "firewall": "firewall",
    "dropped": "cannot be reached",
    "silent": "answer in time",
    "lied about": "throttles requests (503 or 429)",
}
"""Every fault by name, and words that its error message must contain."""

_START_S = 60.0
_BODY = '<?xml version="1.0" encoding="utf-8"?><Error><Code>{}</Code><Message>{}\nRequestId:0\nTime:0</Message></Error>'
_ANSWERS = {
    "busy": (503, "ServerBusy", "The server is busy."),
    "throttled": (429, "TooManyRequests", "The request rate is too high."),
    "broken": (500, "InternalError", "The server encountered an internal error."),
    "expired token": (401, "InvalidAuthenticationInfo", "Lifetime validation failed. The token is expired."),
    "wrong role": (403, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation."),
    "firewall": (403, "AuthorizationFailure", "This request is not authorized to perform this operation."),
}


def one_line(error: BaseException, *words: str) -> None:
    """Check that an error is one line with cause and fix, and contains no secret."""
    text = str(error)
    assert all(word in text for word in words), text
    assert text.endswith(".")
    assert not any(bad in text for bad in ("\n", "\x1b", KEY, "sig=", "token-", "the-identity-header")), text


@dataclass(slots=True)
class Fault:
    """How requests fail.

    kind: one of _ANSWERS, or `silent`, `dropped`, `lied about` (done, but answered with 503). where: a part of the
    path, or of method and path, that selects the requests.
    """

    kind: str
    where: str = ""
    met: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    over: threading.Event = field(default_factory=threading.Event)

    def wait_met(self, times: int = 1) -> None:
        """Wait until the given number of further requests have met the fault."""
        for _ in range(times):
            assert self.met.acquire(timeout=_START_S), f"No request met the fault {self.kind!r}"


class Storage:
    """An account of blob storage at `url`. Leaving the `with` block stops it."""

    def __init__(self) -> None:
        self._azurite, self._port = _start()
        self._proxy = _Proxy(("127.0.0.1", 0), self._handler())
        self._fault: Fault | None = None
        self._tokens: list[str] = []
        self.identity_requests: list[Mapping[str, str]] = []
        self.requests: list[str] = []
        self._thread = threading.Thread(target=self._proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        self.host = f"127.0.0.1:{self._proxy.server_address[1]}"
        self.url = f"http://{self.host}/{ACCOUNT}"

    def __enter__(self) -> "Storage":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()
        self._thread.join()
        self._azurite.terminate()
        self._azurite.wait(_START_S)
        if self._azurite.stdout:
            self._azurite.stdout.close()

    def container(self) -> ContainerClient:
        """Create a container. Its client bypasses the proxy and its faults."""
        url = f"http://127.0.0.1:{self._port}/{ACCOUNT}"
        client = ContainerClient(url, f"c{secrets.token_hex(8)}", credential=ACCOUNT_KEY)
        client.create_container()
        return client

    def lake(self, container: str | None = None, **options: str) -> dict[str, Any]:
        """Return the settings of a lake in the named container, or in a new one.

        options: further storage options. They must include `account_key` unless the lake uses an identity.
        """
        name = container or self.container().container_name
        address = {"account_name": ACCOUNT, "endpoint": self.url, "allow_http": "true"}
        return {
            "lake": f"abfss://{name}@{ACCOUNT}.dfs.core.windows.net/a/lake",
            "lake_options": {**address, **QUICK, **options},
        }

    def identity_environment(self) -> dict[str, str]:
        """Return the variables that Azure Functions sets for an app with a managed identity."""
        return {"IDENTITY_ENDPOINT": f"http://{self.host}/msi/token", "IDENTITY_HEADER": "the-identity-header"}

    def revoke_tokens(self) -> None:
        """Reject all tokens issued so far."""
        self._tokens.clear()

    @contextlib.contextmanager
    def failing(self, kind: str, where: str = "") -> Iterator[Fault]:
        """Make requests fail while the block runs."""
        fault = self._fault = Fault(kind, where)
        try:
            yield fault
        finally:
            self._fault = None
            fault.over.set()

    @contextlib.contextmanager
    def over_tls(self, context: ssl.SSLContext) -> Iterator[str]:
        """Listen on a second port over TLS, which the Azure SDK requires to send tokens. Yields the account's URL."""
        server = _Proxy(("127.0.0.1", 0), self._handler())
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}/{ACCOUNT}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _handler(self) -> type["_Handler"]:
        return type("Handler", (_Handler,), {"storage": self})

    # Called by the proxy's handlers

    def fault_for(self, method: str, path: str) -> Fault | None:
        """Return the fault that applies to a request, or None."""
        self.requests.append(f"{method} {path}")
        fault = self._fault
        return fault if fault and fault.where in f"{method} {path}" else None

    def token(self, query: Mapping[str, str], header: str) -> bytes | None:
        """Issue a token if the identity header is correct, as the endpoint of Azure Functions does."""
        self.identity_requests.append(query)
        if header != "the-identity-header":
            return None
        self._tokens.append(f"token-{len(self.identity_requests)}")
        expires = int(time.time()) + 3600
        return f'{{"access_token": "{self._tokens[-1]}", "expires_on": "{expires}", "token_type": "Bearer"}}'.encode()

    def signed(self, token: str) -> str | None:
        """Return the query with which Azurite accepts a request that has one of our tokens, or None for an unknown
        token.
        """
        if token not in self._tokens:
            return None
        return generate_account_sas(
            ACCOUNT, KEY, ResourceTypes(container=True, object=True),
            AccountSasPermissions(read=True, write=True, delete=True, list=True, add=True, create=True),
            datetime.now(UTC) + timedelta(hours=1),
        )  # fmt: skip

    def connect(self) -> http.client.HTTPConnection:
        """Open a connection to Azurite."""
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=_START_S)


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # the system retries a refused connection only after a second


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    storage: Storage
    _upstream: http.client.HTTPConnection | None = None

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        address = urlsplit(self.path)
        if address.path == "/msi/token":
            self._give_token({name: values[0] for name, values in parse_qs(address.query).items()})
            return
        fault = self.storage.fault_for(self.command, self.path)
        if fault:
            fault.met.release()
        if fault and fault.kind in _ANSWERS:
            self._fail(*_ANSWERS[fault.kind])
        elif fault and fault.kind == "dropped":
            self.close_connection = True
        elif fault and fault.kind == "silent":
            fault.over.wait(_START_S)
            self.close_connection = True
        else:
            self._pass_on(body, lie=bool(fault))

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        """Do not log requests."""

    def finish(self) -> None:
        """Close the connections of this client. The client may be gone already."""
        if self._upstream:
            self._upstream.close()
        with contextlib.suppress(OSError):
            super().finish()

    def handle(self) -> None:
        """Serve until the client disconnects, also if it disconnects with an error."""
        with contextlib.suppress(OSError):
            super().handle()

    def _give_token(self, query: Mapping[str, str]) -> None:
        token = self.storage.token(query, self.headers.get("x-identity-header", ""))
        self._answer(200 if token else 400, {"Content-Type": "application/json"}, token or b"{}")

    def _pass_on(self, body: bytes, *, lie: bool) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        path = self.path
        if headers.get("Authorization", headers.get("authorization", "")).startswith("Bearer "):
            signature = self.storage.signed(self.headers["authorization"].removeprefix("Bearer "))
            if signature is None:
                self._fail(*_ANSWERS["expired token"])
                return
            headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
            path += ("&" if "?" in path else "?") + signature
        try:
            answer = self._ask(path, body, headers)
        except ConnectionError:  # Azurite closed an idle connection, but the client's connection is still open
            if self._upstream:
                self._upstream.close()
            self._upstream = None
            answer = self._ask(path, body, headers)
        found = answer.read()
        if lie:
            self._fail(*_ANSWERS["busy"])
            return
        start = parse_qs(urlsplit(self.path).query).get("startFrom")
        found = _listed_from(found, start[0]) if start else found
        self._answer(answer.status, dict(answer.getheaders()), found)

    def _ask(self, path: str, body: bytes, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        self._upstream = self._upstream or self.storage.connect()
        self._upstream.request(self.command, path, body, headers)
        return self._upstream.getresponse()

    def _fail(self, status: int, code: str, message: str) -> None:
        headers = {"x-ms-error-code": code, "Content-Type": "application/xml"}
        self._answer(status, headers, _BODY.format(code, message).encode())

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        hop_by_hop = {"connection", "keep-alive", "transfer-encoding"}
        for name, value in headers.items():
            if name.lower() not in hop_by_hop and (name.lower() != "content-length" or self.command == "HEAD"):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _listed_from(listing: bytes, start: str) -> bytes:
    """Remove the names before `start` from a listing."""

    def keep(found: "re.Match[bytes]") -> bytes:
        return found[0] if found[1].decode() >= start else b""

    return re.sub(rb"<Blob><Name>(.*?)</Name>.*?</Blob>", keep, listing, flags=re.DOTALL)


def _start() -> tuple["subprocess.Popen[str]", int]:
    command = [
        *node(_BLOBS), "--blobHost", "127.0.0.1", "--blobPort", "0", "--blobKeepAliveTimeout", "600",
        "--inMemoryPersistence", "--extentMemoryLimit", "512", "--disableTelemetry", "--disableProductStyleUrl",
        "--skipApiVersionCheck", "--silent",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    assert process.stdout, "stdout is a pipe"
    printed = []
    for line in process.stdout:
        printed.append(line)
        if found := re.search(r"successfully listens on http://127\.0\.0\.1:(\d+)", line):
            return process, int(found[1])
    raise AssertionError(f"Azurite did not start: {printed}")
