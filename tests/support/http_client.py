"""A running `headwater up`, and a client that can break the rules of HTTP."""

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
    """A `headwater up` on a free port, and the requests that tests send to it."""

    def __init__(self, folder: Path, settings: Mapping[str, object]):
        """Start Headwater. Settings become environment variables, with lists as JSON."""
        own = {f"HEADWATER_{name.upper()}": _text(value) for name, value in settings.items()}
        self.running = Running(folder, environment=own, options=["--tick", "100ms"])
        self.folder = folder
        self.url = self.running.url
        self.port = self.running.port
        self.process = self.running.process

    def said(self) -> str:
        """Return everything that the supervisor and its children printed."""
        return "\n".join(self.running.lines) + self.running.stderr

    def serve_pid(self) -> int:
        """Return the process ID of `serve`."""
        return self.running.pid("serve")

    def peak_kib(self) -> int:
        """Return the peak memory of `serve` in KiB."""
        status = Path(f"/proc/{self.serve_pid()}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))

    def stop(self) -> None:
        """Stop Headwater if it still runs, and check that it exits cleanly."""
        with self.running:
            pass

    def client(self, **headers: str) -> httpx.Client:
        """Return a client that follows the rules of HTTP."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def settled(self, **headers: str) -> dict[str, Any]:
        """Return the audit when there are no pending events and all refusals are counted."""
        with self.client(**headers) as client:
            deadline, before = time.monotonic() + SETTLE_S, None
            while True:
                answer = client.get("/api/headwater/v1/audit")  # 503 until the parser has created the tables
                audit: dict[str, Any] = answer.json()
                counted = refused_by_metrics(client)
                if answer.status_code == 200 and not audit["pending"] and audit["refused"] == counted == before:
                    return audit
                assert time.monotonic() < deadline, (
                    f"The audit did not settle: {audit}, refused according to metrics: {counted}"
                )
                before = counted
                time.sleep(0.05)  # the audit sends no notification, so poll


@contextmanager
def running(folder: Path, **settings: object) -> Iterator[Gateway]:
    """Run Headwater and stop it at the end."""
    gateway = Gateway(folder, settings)
    try:
        yield gateway
    finally:
        gateway.stop()


def refused_by_metrics(client: httpx.Client) -> int:
    """Return the number of refused requests and batch items according to `/metrics`, for all reasons."""
    lines = client.get("/metrics").raise_for_status().text.splitlines()
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("headwater_refused_total{")))


class Wire:
    """A bare TCP connection, which sends any bytes."""

    def __init__(self, port: int, *, timeout_s: float = 30.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> Self:
        """Send bytes. Ignores errors of a server that has already answered and closed the connection."""
        # the server answered before it closed; the test reads that answer next
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)
        return self

    def end(self) -> Self:
        """Close our half of the connection."""
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def reply(self) -> tuple[int, dict[str, str], bytes]:
        """Read one answer and return its status, headers and body.

        Raises EOFError if the server closed without an answer.
        """
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
        """Wait until the server closes the connection. Returns False if it sends data instead."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def post(body: bytes = b"", *headers: str, path: str = "/api/v1/lineage", length: int | None = None) -> bytes:
    """Return the bytes of a POST request.

    length: the Content-Length, which may be wrong. -1 omits the header.
    """
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", *headers]
    if length != -1:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def chunked(*parts: bytes) -> bytes:
    """Return parts in chunked transfer encoding."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
