"""Generate load from a separate process with the standard library only: `python -m bench.load URL FILE`.

Closed loop: each connection sends its next request after the response to the last one. Open loop (`--rate`): requests
are due on a schedule, and latency counts from the due time, so that a stalled server cannot hide its delay.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

_RUN_ID = b'"runId":"'
NUMBER, JOB = "@" * 8, "%" * 8
"""Placeholders of eight characters in a line: the number of the event, and the number of one of `JOBS` jobs."""
JOBS = 100_000


def bodies(file: Path, count: int, start: int) -> Iterator[bytes]:
    """Yield `count` events of an NDJSON file, repeatedly; the pass number replaces the first 8 digits of each run ID.

    In a line with `NUMBER`, the event and job numbers replace the placeholders instead. start: the number of the first
    pass; loads with a different start send different events.
    """
    lines = file.read_bytes().splitlines()
    places = [line.find(_RUN_ID) + len(_RUN_ID) for line in lines]
    marked = [NUMBER.encode() in line for line in lines]
    for number in range(count):
        pass_number, index = divmod(number, len(lines))
        line, at = lines[index], places[index]
        if marked[index]:
            serial = start * len(lines) + number
            yield line.replace(NUMBER.encode(), b"%08x" % serial).replace(JOB.encode(), b"%08d" % (serial % JOBS))
        else:
            yield b"%b%08x%b" % (line[:at], start + pass_number, line[at + 8 :])


def requests(host: str, events: Iterator[bytes], batch: int) -> Iterator[bytes]:
    """Wrap events into HTTP requests, `batch` events per request; 1 posts single events."""
    path = "/api/v1/lineage" if batch == 1 else "/api/v1/lineage/batch"
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: ".encode()
    while group := [event for _, event in zip(range(batch), events, strict=False)]:
        body = group[0] if batch == 1 else b"[" + b",".join(group) + b"]"
        yield b"%b%d\r\n\r\n%b" % (head, len(body), body)


class _Connection(asyncio.Protocol):
    """A keep-alive connection with one request at a time."""

    def __init__(self) -> None:
        self._answer = b""
        self._done: asyncio.Future[int] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._done and not self._done.done():
            self._done.set_exception(ConnectionError(f"The server closed the connection: {error}."))

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head = self._answer.find(b"\r\n\r\n")
        if head < 0 or len(self._answer) < head + 4 + _length(self._answer[:head]):
            return
        status, self._answer = int(self._answer[9:12]), b""
        if self._done and not self._done.done():
            self._done.set_result(status)

    async def send(self, request: bytes) -> int:
        """Send a request and return the status of its response."""
        assert self._transport
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._done

    def close(self) -> None:
        if self._transport:
            self._transport.close()


def _length(head: bytes) -> int:
    found = head.lower().partition(b"content-length:")[2]
    return int(found.partition(b"\r\n")[0]) if found else 0


class _Run:
    """The state that the connections of one load share."""

    def __init__(self, waiting: Iterator[bytes], rate: float):
        self._waiting = enumerate(waiting)
        self._rate = rate
        self._began = time.perf_counter()
        self.waits: list[float] = []
        self.statuses: Counter[int] = Counter()

    async def work(self, host: str, port: int) -> None:
        """Send requests on one connection until none is left."""
        _, connection = await asyncio.get_running_loop().create_connection(_Connection, host, port)
        for number, request in self._waiting:
            due = await self._due(number)
            self.statuses[await connection.send(request)] += 1
            self.waits.append(time.perf_counter() - due)
        connection.close()

    async def _due(self, number: int) -> float:
        now = time.perf_counter()
        if not self._rate:
            return now
        due = self._began + number / self._rate
        if due > now:
            await asyncio.sleep(due - now)
        return due


async def _load(arguments: argparse.Namespace) -> dict[str, object]:
    url = urlsplit(arguments.url)
    host, port = url.hostname or "127.0.0.1", url.port or 80
    events = bodies(arguments.file, arguments.count, arguments.start)
    waiting = requests(host, events, arguments.batch)
    if not arguments.lazy:
        waiting = iter(list(waiting))  # build the requests first, so that building does not slow the event loop
    run = _Run(waiting, arguments.rate)
    began = time.perf_counter()
    await asyncio.gather(*(run.work(host, port) for _ in range(arguments.connections)))
    return {
        "seconds": time.perf_counter() - began,
        "events": arguments.count,
        "statuses": dict(run.statuses),
        "waits_ms": [round(wait * 1000, 3) for wait in run.waits],
    }


def main() -> None:
    """Run the load and print its results as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file", type=Path)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--count", type=int, default=1000, help="events to send")
    parser.add_argument("--batch", type=int, default=1, help="events per request")
    parser.add_argument("--rate", type=float, default=0, help="requests per second, on a schedule")
    parser.add_argument("--start", type=int, default=0, help="number of the first pass through the file")
    parser.add_argument("--lazy", action="store_true", help="build requests while sending, for large loads")
    json.dump(asyncio.run(_load(parser.parse_args())), sys.stdout)


if __name__ == "__main__":
    main()
