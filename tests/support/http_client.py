"""A running `headwater up` and a client that may break every rule of HTTP."""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import httpx

from tests.support.running import Running

SETTLE_S = 60.0


class Gateway:
    """One `headwater up` on a free port of this machine, and the ways in which tests ask it."""

    def __init__(self, folder: Path, settings: Mapping[str, object]):
        """Start it; settings become variables, lists as JSON."""
        own = {f"HEADWATER_{name.upper()}": _text(value) for name, value in settings.items()}
        self.running = Running(folder, environment=own, options=["--tick", "100ms"])
        self.folder = folder
        self.url = self.running.url
        self.port = self.running.port
        self.process = self.running.process

    def said(self) -> str:
        """Return all that the supervisor and its children printed."""
        return "\n".join(self.running.lines) + self.running.stderr

    def serve_pid(self) -> int:
        """Return the process that answers requests."""
        return self.running.pid("serve")

    def peak_kib(self) -> int:
        """Return the most memory that `serve` ever held, in KiB."""
        status = Path(f"/proc/{self.serve_pid()}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))

    def stop(self) -> None:
        """Stop it, if it still runs, and let it end well."""
        with self.running:
            pass

    def client(self, **headers: str) -> httpx.Client:
        """Return a well-behaved client."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def settled(self, **headers: str) -> dict[str, Any]:
        """Return the audit once nothing is pending and the notes of refusals have arrived."""
        with self.client(**headers) as client:
            deadline, before = time.monotonic() + SETTLE_S, None
            while True:
                answer = client.get("/api/headwater/v1/audit")  # 503 until the parser has made the tables
                audit: dict[str, Any] = answer.json()
                counted = refused_by_metrics(client)
                if answer.status_code == 200 and not audit["pending"] and audit["refused"] == counted == before:
                    return audit
                assert time.monotonic() < deadline, f"Never at rest: {audit}, refused by metrics: {counted}"
                before = counted
                time.sleep(0.05)  # the audit is only to be asked for, it calls nobody


@contextmanager
def running(folder: Path, **settings: object) -> Iterator[Gateway]:
    """Run a Headwater, stopped at the end."""
    gateway = Gateway(folder, settings)
    try:
        yield gateway
    finally:
        gateway.stop()


def refused_by_metrics(client: httpx.Client) -> int:
    """Return how many requests and batch items `/metrics` says were refused, of whatever reason."""
    lines = client.get("/metrics").raise_for_status().text.splitlines()
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("headwater_refused_total{")))


class Wire:
    """A bare connection: what is sent on it is nobody's business."""

    def __init__(self, port: int, *, timeout_s: float = 30.0):
        """Connect."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> Self:
        """Send bytes; a server that has already answered and closed is none of this method's worries."""
        with suppress(BrokenPipeError, ConnectionResetError):  # it answered before it closed: that is read next
            self.socket.sendall(data)
        return self

    def end(self) -> Self:
        """Close our half of the connection."""
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def reply(self) -> tuple[int, dict[str, str], bytes]:
        """Read one answer: status, headers, body. Raises EOFError if the server closed without one."""
        first = self._file.readline()
        if not first:
            raise EOFError("closed without an answer")
        headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return int(first.split()[1]), headers, self._file.read(int(headers.get("content-length", 0)))

    def status(self) -> int:
        """Read one answer and return its status."""
        return self.reply()[0]

    def closed(self) -> bool:
        """Wait until the server closes; False if it says something instead."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self.socket.close()


def post(body: bytes = b"", *headers: str, path: str = "/api/v1/lineage", length: int | None = None) -> bytes:
    """Return the bytes of a POST; `length` may lie, and -1 leaves Content-Length out."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", *headers]
    if length != -1:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def chunked(*parts: bytes) -> bytes:
    """Return parts in chunked transfer coding."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
