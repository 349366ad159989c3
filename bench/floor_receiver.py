"""A minimal receiver with asyncio, httptools and the same SQLite log: the performance floor of the receiver.

It has no validation, no routes and no metrics.
"""

import asyncio
import signal
import sys
from pathlib import Path
from typing import cast

import httptools
import uvloop

from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.sqlite_log import SqliteLog

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


class _Connection(asyncio.Protocol):
    """Appends the body of each request to the log and responds with 200."""

    def __init__(self, log: SqliteLog):
        self._log = log
        self._parser = httptools.HttpRequestParser(self)
        self._body: list[bytes] = []
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's class does not inherit from it

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, fact: bytes) -> None:
        self._body.append(fact)

    def on_message_complete(self) -> None:
        record = Record(RecordKind.EVENT, b"".join(self._body))
        self._body = []
        self._task = asyncio.get_running_loop().create_task(self._answer(record))

    async def _answer(self, record: Record) -> None:
        await self._log.append([record], timeout_s=2.4)
        self._transport.write(_ANSWER)


async def _serve(folder: Path) -> None:
    log = SqliteLog(folder)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    server = await loop.create_server(lambda: _Connection(log), "127.0.0.1", 0)
    print("http://{}:{}".format(*server.sockets[0].getsockname()), flush=True)
    await ended.wait()
    server.close()
    await asyncio.to_thread(log.close)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(Path(sys.argv[1])))
