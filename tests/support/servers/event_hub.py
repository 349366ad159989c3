"""An event hub for tests: it runs in a thread on a free port, keeps partitions in memory, and fails on demand."""

import asyncio
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, TypeVar
from zlib import crc32

from azure.eventhub._pyamqp._decode import decode_payload
from azure.eventhub._pyamqp.message import Message
from azure.eventhub._pyamqp.types import TYPE, VALUE, AMQPTypes

from tests.support.servers.event_hub_connection import HubConnection

T = TypeVar("T")
SECRET = "very-secret-key-of-the-namespace="
_KEY = b"x-opt-partition-key"
_BUSY = b"com.microsoft:server-busy"
_THROTTLED = b"The request was terminated because the namespace is being throttled. Error code: 50002."


class Fault(Enum):
    """A fault that the hub shows while it is switched on."""

    THROTTLED = "rejects each send with server-busy"
    DROPS_BEFORE = "hangs up at each send, storing nothing"
    DROPS_AFTER = "stores each send, then hangs up instead of saying so"
    SILENT = "stores each send and says so only when the fault is over"
    DETACHES = "detaches the link at each send, storing nothing"
    DEAF = "takes connections and never says a word"
    TOKEN_REFUSED = "refuses every token, as one that has expired"
    NOT_ALLOWED = "refuses every link of the hub, as for an identity without the role"
    NO_SUCH_HUB = "knows no hub of this name"


@dataclass(frozen=True, slots=True)
class Stored:
    """An event stored in the hub."""

    sequence: int
    enqueued_ms: int
    key: bytes | None
    body: bytes
    properties: dict[str | bytes, Any]


@dataclass(slots=True)
class Outcome:
    """The result of a send: accepted, unless one of these fields is set."""

    reject: tuple[bytes, bytes] | None = None
    detach: tuple[bytes, bytes] | None = None
    drop: bool = False
    wait: asyncio.Event | None = None


@dataclass(slots=True)
class _Partition:
    begin: int = 0
    events: list[Stored] = field(default_factory=list)
    grown: asyncio.Event = field(default_factory=asyncio.Event)

    def next(self) -> int:
        return self.begin + len(self.events)


class HubServer:
    """A hub on loopback. Use it as a context manager. The test's thread may call every method.

    fault: the current fault. sends: number of events of each stored send. links: how many links of the hub clients have
    opened. tokens: type and text of the tokens that clients presented.
    """

    def __init__(self, partitions: int = 2, *, max_message_bytes: int = 1 << 20) -> None:
        self.name = "openlineage"
        self.max_message_bytes = max_message_bytes
        self.fault: Fault | None = None
        self.sends: list[int] = []
        self.links = 0
        self.tokens: set[tuple[str, str]] = set()
        self._count = partitions
        self._connections: set[HubConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hub", daemon=True)
        self._thread.start()
        self._run(self._begin())

    def __enter__(self) -> "HubServer":
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def connection_string(self) -> str:
        return (
            f"Endpoint=sb://127.0.0.1:{self.port};SharedAccessKeyName=headwater;SharedAccessKey={SECRET};"
            "UseDevelopmentEmulator=true"
        )

    def up(self) -> None:
        """Start to listen, on the earlier port if there was one."""
        self._server = self._run(asyncio.start_server(self._connected, "127.0.0.1", getattr(self, "port", 0)))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def down(self) -> None:
        """Stop listening and close all connections. Stored events remain."""
        self._run(self._stop())

    def switch(self, fault: Fault | None) -> None:
        """Start a fault or end it. The end of a fault acknowledges delayed sends."""
        self.fault = fault
        if fault is None:
            self._loop.call_soon_threadsafe(self._release)

    def hang_up(self) -> None:
        """Close every connection once."""
        self._run(self._hang_up())

    def detach(self) -> None:
        """Detach every link once, as a hub does with idle links."""
        self._run(self._detach_all())

    def recreate(self) -> None:
        """Delete and recreate the hub: it has a new creation time, empty partitions and no links."""
        self._run(self._begin())
        self.hang_up()

    def expire(self, partition: int, before: int) -> None:
        """Delete the events of a partition below a sequence number, as retention does."""
        found = self._partitions[partition]
        found.events, found.begin = found.events[before - found.begin :], before

    def stored(self, partition: int | None = None) -> list[Stored]:
        """Return the events of one partition, or of all."""
        chosen = self._partitions if partition is None else [self._partitions[partition]]
        return [event for one in chosen for event in one.events]

    # Called by connections

    def refuses_link(self, address: bytes) -> tuple[bytes, bytes] | None:
        if address.startswith(b"$"):
            return None
        self.links += 1
        if self.fault is Fault.NOT_ALLOWED:
            return b"amqp:unauthorized-access", b"Unauthorized access. 'Send' claim(s) are required to perform this."
        if self.fault is Fault.NO_SUCH_HUB or address.split(b"/")[1] != self.name.encode():
            return b"amqp:not-found", b"The messaging entity could not be found."
        return None

    def put_token(self, asked: dict[str, Any], token: Any) -> tuple[int, str, Any]:
        self.tokens.add((bytes(asked["type"]).decode(), bytes(token).decode()))
        if self.fault is Fault.TOKEN_REFUSED:
            return 401, "ExpiredToken: The token is expired.", None
        return 200, "OK", None

    def management(self, asked: dict[str, str]) -> tuple[int, str, Any]:
        if self.fault is Fault.NO_SUCH_HUB or asked["name"] != self.name:
            return 404, "The messaging entity could not be found.", None
        if self.fault is Fault.NOT_ALLOWED:
            return 401, "Unauthorized access. 'Listen' claim(s) are required.", None
        if asked["type"] == "com.microsoft:eventhub":
            names = [str(number) for number in range(self._count)]
            return 200, "OK", {"name": self.name, "created_at": _timestamp(self._created_ms), "partition_ids": names}
        found = self._partitions[int(asked["partition"])]
        last = found.events[-1] if found.events else None
        value = {
            "name": self.name, "partition": asked["partition"], "begin_sequence_number": _long(found.begin),
            "last_enqueued_sequence_number": _long(found.next() - 1), "last_enqueued_offset": str(found.next() - 1),
            "last_enqueued_time_utc": _timestamp(last.enqueued_ms if last else 0), "is_partition_empty": last is None,
        }  # fmt: skip
        return 200, "OK", value

    def send(self, message: Message, partition: int | None) -> Outcome:
        """Store the events of a send.

        partition: the partition that the client chose, or None to choose by key.
        """
        match self.fault:
            case Fault.THROTTLED:
                return Outcome(reject=(_BUSY, _THROTTLED))
            case Fault.DETACHES:
                return Outcome(detach=(b"amqp:link:detach-forced", b"The link was closed by the service."))
            case Fault.DROPS_BEFORE:
                return Outcome(drop=True)
        self._store(message, partition)
        return Outcome(drop=self.fault is Fault.DROPS_AFTER, wait=self._held if self.fault is Fault.SILENT else None)

    async def wait_for(self, partition: int, sequence: int) -> None:
        """Wait until a partition has reached a sequence number."""
        while (found := self._partitions[partition]).next() <= sequence:
            found.grown.clear()
            await found.grown.wait()

    def message(self, partition: int, sequence: int) -> Message | None:
        found = self._partitions[partition]
        if sequence < found.begin:
            return None
        event = found.events[sequence - found.begin]
        annotations: dict[str | bytes, Any] = {
            b"x-opt-sequence-number": _long(event.sequence), b"x-opt-offset": str(event.sequence),
            b"x-opt-enqueued-time": _timestamp(event.enqueued_ms),
        }  # fmt: skip
        if event.key is not None:
            annotations[_KEY] = event.key
        return Message(data=[event.body], application_properties=event.properties, message_annotations=annotations)

    def sequence_of(self, partition: int, offset: int) -> int:
        return offset if offset >= 0 else self.begin(partition) - 1

    def begin(self, partition: int) -> int:
        return self._partitions[partition].begin

    # Called within the hub's thread

    def _store(self, message: Message, partition: int | None) -> None:
        annotations = message.message_annotations or {}
        key = annotations.get(_KEY)
        data: list[bytes] = [bytes(part) for part in message.data]  # type: ignore[union-attr]
        is_batch = not message.application_properties  # each of our events has application properties
        events = [decode_payload(memoryview(part)) for part in data] if is_batch else [message]
        by_key = crc32(key) % self._count if key else 0
        found = self._partitions[by_key if partition is None else partition]
        for event in events:
            properties = dict(event.application_properties or {})
            body = b"".join(bytes(part) for part in event.data)  # type: ignore[union-attr]
            found.events.append(Stored(found.next(), int(time.time() * 1000), key, body, properties))
        self.sends.append(len(events))
        found.grown.set()

    async def _begin(self) -> None:
        self._created_ms = int(time.time() * 1000)
        self._partitions = [_Partition() for _ in range(self._count)]
        self._held = asyncio.Event()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = HubConnection(self, reader, writer)
        self._connections.add(connection)
        task = asyncio.current_task()
        assert task, "asyncio calls this in a task"
        self._tasks.add(task)
        try:
            if self.fault is Fault.DEAF:
                await reader.read()
            else:
                await connection.run()
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            writer.close()
            self._connections.discard(connection)
            self._tasks.discard(task)

    async def _hang_up(self) -> None:
        for connection in list(self._connections):
            connection.hang_up()

    async def _detach_all(self) -> None:
        for connection in list(self._connections):
            connection.detach_all(b"amqp:link:detach-forced")

    async def _stop(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _release(self) -> None:
        self._held.set()
        self._held = asyncio.Event()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


def _long(value: int) -> dict[str, Any]:
    return {TYPE: AMQPTypes.long, VALUE: value}


def _timestamp(milliseconds: int) -> dict[str, Any]:
    return {TYPE: AMQPTypes.timestamp, VALUE: milliseconds}
