"""A load generator that is a process of its own: `python -m bench.load URL FILE`; standard library only.

Closed loop: each connection sends its next request when the last is answered. Open loop (`--rate`): requests are due on
a schedule and waits are measured from there, so that a server that stalls cannot hide it by slowing the clients.
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
"""What a line may have in it, in place of eight digits: the number of the event, or that of one of `JOBS` jobs."""
JOBS = 100_000


def bodies(file: Path, count: int, start: int) -> Iterator[bytes]:
    """Yield `count` events of an NDJSON file, over and over; a run id's first eight digits are the number of the pass.

    In a line that has `NUMBER` in it that is replaced instead, and `JOB`: a run or a job can be the same each time, or
    another one. start: number of the first pass; two loads with other starts send other events.
    """
    lines = file.read_bytes().splitlines()
    places = [line.find(_RUN_ID) + len(_RUN_ID) for line in lines]
    marked = [NUMBER.encode() in line for line in lines]
    for number in range(count):
        turn, index = divmod(number, len(lines))
        line, at = lines[index], places[index]
        if marked[index]:
            serial = start * len(lines) + number
            yield line.replace(NUMBER.encode(), b"%08x" % serial).replace(JOB.encode(), b"%08d" % (serial % JOBS))
        else:
            yield b"%b%08x%b" % (line[:at], start + turn, line[at + 8 :])


def requests(host: str, events: Iterator[bytes], batch: int) -> Iterator[bytes]:
    """Wrap events into HTTP requests, `batch` to each; 1 posts single events."""
    path = "/api/v1/lineage" if batch == 1 else "/api/v1/lineage/batch"
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: ".encode()
    while group := [event for _, event in zip(range(batch), events, strict=False)]:
        body = group[0] if batch == 1 else b"[" + b",".join(group) + b"]"
        yield b"%b%d\r\n\r\n%b" % (head, len(body), body)


class _Connection(asyncio.Protocol):
    """One keep-alive connection with one request at a time."""

    def __init__(self) -> None:
        self._answer = b""
        self._done: asyncio.Future[int] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._done and not self._done.done():
            self._done.set_exception(ConnectionError(f"The server went away: {error}."))

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head = self._answer.find(b"\r\n\r\n")
        if head < 0 or len(self._answer) < head + 4 + _length(self._answer[:head]):
            return
        status, self._answer = int(self._answer[9:12]), b""
        if self._done and not self._done.done():
            self._done.set_result(status)

    async def send(self, request: bytes) -> int:
        """Send a request; returns the status of its answer."""
        assert self._transport
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._done

    def close(self) -> None:
        """Close the connection."""
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
        """Send on one connection until no request is left."""
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
        waiting = iter(list(waiting))  # so that building them costs the loop nothing
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
    """Print what came of the load as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file", type=Path)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--count", type=int, default=1000, help="events to send")
    parser.add_argument("--batch", type=int, default=1, help="events in a request")
    parser.add_argument("--rate", type=float, default=0, help="requests a second, on a schedule")
    parser.add_argument("--start", type=int, default=0, help="number of the first pass through the file")
    parser.add_argument("--lazy", action="store_true", help="build requests while sending, for large loads")
    json.dump(asyncio.run(_load(parser.parse_args())), sys.stdout)


if __name__ == "__main__":
    main()
