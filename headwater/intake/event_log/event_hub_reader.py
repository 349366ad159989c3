"""Reads from an event hub, with one synchronous reader per partition.

A stream buffers the records that the hub delivers for one partition, until the caller has read later records. The SDK
runs in an event loop in a background thread, because only its asynchronous calls can be cancelled.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from azure.eventhub import EventData
from azure.eventhub.aio import EventHubConsumerClient

from headwater.common.errors import LogUnavailable
from headwater.events.position import Source
from headwater.intake.event_log import LoggedRecord
from headwater.intake.event_log.event_hub_clients import CLOSE_S, HubAddress, HubClients, close_quietly
from headwater.intake.event_log.event_hub_faults import explain_fault
from headwater.intake.event_log.event_hub_records import epoch_of, logged_record, sequence_of, starting_position

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for synchronous threads. The loop starts at first use and ends with the process."""

    def __init__(self) -> None:
        """Create an object without a loop. The first call of another method starts the loop."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def run_coroutine(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Run a coroutine and return its result.

        After the timeout, it cancels the coroutine and raises TimeoutError.
        """
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, timeout_s), self._running_loop()).result()

    def start_coroutine(self, work: Coroutine[Any, Any, None]) -> Callable[[], object]:
        """Start a coroutine. Returns a function that cancels the coroutine; any thread may call this function."""
        return asyncio.run_coroutine_threadsafe(work, self._running_loop()).cancel

    def schedule_call(self, function: Callable[[], object]) -> None:
        """Schedule a call in the loop."""
        self._running_loop().call_soon_threadsafe(function)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="event-hub", daemon=True).start()
            return self._loop


BUFFER_BYTES = 32 << 20
"""Maximum bytes of buffered bodies.

Above it, the stream accepts no further delivery, but the last one may exceed it.
"""


class HubStream:
    """A link that receives the records of one partition.

    A background loop receives the deliveries of the hub, and one thread reads the records from the buffer.
    """

    def __init__(self, clients: HubClients, background: BackgroundLoop, partition: str, after: int, group: str):
        """Start opening the link in the background.

        after: sequence after which the link begins. group: consumer group.
        """
        self.begin = after
        self.heard = time.monotonic()
        self._clients = clients
        self._background = background
        self._partition = partition
        self._group = group
        self._records: deque[LoggedRecord] = deque()
        self._bytes = 0
        self._fault: str | None = None
        self._changed = threading.Condition()
        self._room = asyncio.Event()
        self._ended = threading.Event()
        self._cancel = background.start_coroutine(self._receive_deliveries(after))

    def read(self, after: int, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the buffered records after sequence `after`, and drop the earlier records.

        Raises LogUnavailable if the buffer is empty and the link has failed. after: must not be less than `begin`. The
        method sets `begin` to `after`.
        """
        with self._changed:
            self.begin = after
            while self._records and self._records[0].sequence <= after:
                self._bytes -= len(self._records.popleft().body)
            found: list[LoggedRecord] = []
            size = 0
            for record in self._records:
                if len(found) >= limit or size >= max_bytes:
                    break
                found.append(record)
                size += len(record.body)
            if not found and self._fault:
                raise LogUnavailable(self._fault)
        if self._bytes < BUFFER_BYTES:
            self._background.schedule_call(self._room.set)
        return found

    def wait_for_records(self, is_enough: Callable[[Sequence[LoggedRecord], int], bool], timeout_s: float) -> bool:
        """Wait until `is_enough` returns true or the link has failed. Returns False after the timeout.

        is_enough: receives the buffered records, and the sum of their body bytes.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._fault or is_enough(self._records, self._bytes), timeout_s) != 0

    def close(self) -> None:
        """Close the link."""
        self._cancel()
        self._ended.wait(2 * CLOSE_S)

    async def _receive_deliveries(self, after: int) -> None:
        client = self._clients.consumer(self._group)
        try:
            await client.receive_batch(
                self._buffer_events,
                partition_id=self._partition,
                starting_position=starting_position(after),
                on_error=self._record_failure,
            )
        except Exception as error:  # any SDK error: the reading thread must see it
            await self._record_failure(None, error)
        finally:
            await close_quietly(client)
            self._ended.set()

    async def _buffer_events(self, _: Any, events: list[EventData]) -> None:
        records = [_to_logged_record(event) for event in events]
        with self._changed:
            self._records.extend(records)
            self._bytes += sum(len(record.body) for record in records)
            self.heard = time.monotonic()
            self._changed.notify_all()
        while self._bytes >= BUFFER_BYTES:
            self._room.clear()
            await self._room.wait()

    async def _record_failure(self, _: Any, error: Exception) -> None:
        with self._changed:
            self._fault = explain_fault(error, self._clients.address, "receive").message
            self._changed.notify_all()


def _to_logged_record(event: EventData) -> LoggedRecord:
    number, enqueued, body = event.sequence_number, event.enqueued_time, cast("Iterable[bytes]", event.body)
    assert number is not None and enqueued is not None  # noqa: PT018, S101 - a hub sets both
    return logged_record(number, enqueued, b"".join(body), event.properties)


ASK_S = 5.0
DELIVERY_S = 10.0
SILENCE_S = 30.0
RANGE_GROUP = "$Default"
"""A consumer group that every hub has.

The trigger's group cannot be used, because the trigger excludes other readers by an epoch.
"""


class HubReaders:
    """Looks up the partitions of a hub on each call, and returns a reader for each partition."""

    def __init__(self, address: HubAddress, group: str):
        """group: consumer group of the parser. Hubs of the basic tier have only `$Default`."""
        self._asking = _HubQueries(address)
        self._group = group
        self._readers: list[HubReader] = []
        self._lock = threading.Lock()

    def __call__(self) -> Sequence["HubReader"]:
        """Return the readers, which stay the same until the hub is replaced.

        Raises LogUnavailable if the hub does not answer.
        """
        found = self._asking.run_query(lambda client: client.get_eventhub_properties())
        epoch = epoch_of(found["created_at"])
        sources = [Source(self._asking.address.name, epoch, name) for name in found["partition_ids"]]
        with self._lock:
            if sources != [reader.source for reader in self._readers]:
                for reader in self._readers:
                    reader.close()
                self._readers = [HubReader(self._asking, source, self._group) for source in sources]
            return list(self._readers)


class HubReader:
    """One partition of a hub. Call `read` from one thread only; the other methods are thread-safe."""

    def __init__(self, queries: "_HubQueries", source: Source, group: str):
        """Create a reader without a link. The first read opens the link."""
        self.source = source
        self._asking = queries
        self._group = group
        self._stream: HubStream | None = None
        self._oldest: tuple[int, int] = (0, 0)

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records after `after` that the hub has delivered.

        The first call opens a link, which stays open. If the hub has records, the first call waits for the first
        delivery. Later calls do not wait.
        """
        if self._stream is None or after < self._stream.begin:
            self.close()
            self._stream = self._open_stream(after, self._group)
            if self.tail() > after:
                self._stream.wait_for_records(_has_any, DELIVERY_S)
        found = self._stream.read(after, limit, max_bytes)
        if not found and time.monotonic() - self._stream.heard > SILENCE_S:
            self._stream.heard = time.monotonic()
            self._check_silence(self._stream, after)
        return found

    def read_between(self, after: int, before: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records between two sequences, exclusive, over a separate link.

        The list is empty if the hub lost them.
        """
        stream = self._open_stream(after, RANGE_GROUP)
        try:
            stream.wait_for_records(
                lambda found, size: (
                    bool(found) and (found[-1].sequence >= before - 1 or len(found) >= limit or size >= max_bytes)
                ),
                DELIVERY_S,
            )
            found = stream.read(after, limit, max_bytes)
        finally:
            stream.close()
        if not found and self.head() < before:
            raise LogUnavailable(
                f"Event hub {self.source.log!r} delivered no record of partition {self.source.partition} within "
                f"{DELIVERY_S:.0f} s. Headwater tries again."
            )
        return [record for record in found if record.sequence < before]

    def lost_up_to(self, after: int) -> int:  # noqa: ARG002 - see the docstring
        """Return 0, because a loss becomes visible only when the next record arrives."""
        return 0

    def in_epoch(self, epoch: str) -> Source:
        """Return the source of this partition in another epoch of the log."""
        return replace(self.source, epoch=epoch)

    def record_at(self, sequence: int) -> None:
        """Return None.

        The caller compares this record to detect a restored log. A hub cannot be restored from a backup, and a
        recreated hub has another epoch.
        """

    def acknowledged(self) -> int:
        """Return 0, because only local logs have a count file."""
        return 0

    def missing_ranges(self, epoch_source: Source, passed: int, acknowledged: int) -> list[tuple[int, int]]:  # noqa: ARG002 - see the docstring
        """Return an empty list, because a loss becomes visible only when the next record arrives."""
        return []

    def tail(self) -> int:
        """Fetch the newest sequence number."""
        return sequence_of(self._partition_properties()["last_enqueued_sequence_number"])

    def head(self) -> int:
        """Fetch the oldest stored sequence number. If the partition is empty, fetch the number of the next record."""
        found = self._partition_properties()
        empty = found["is_empty"]
        return sequence_of(found["last_enqueued_sequence_number"] + 1 if empty else found["beginning_sequence_number"])

    def pending(self, passed: int) -> int:
        """Count the records after `passed`, including records of refused requests."""
        return max(0, self.tail() - passed)

    def received_us(self, sequence: int) -> int | None:
        """Return when the hub stored the first record with this or a later sequence (us, UTC); None if there is none.

        Caches the last answer.
        """
        if self._oldest[0] != sequence:
            tail = self.tail()
            found = self.read_between(sequence - 1, tail + 1, limit=1, max_bytes=1) if tail >= sequence else []
            if not found:
                return None
            self._oldest = (sequence, found[0].received_us)
        return self._oldest[1]

    def size_bytes(self) -> int:
        """Return 0: the log is not on this machine."""
        return 0

    def close(self) -> None:
        """Close the link. The next read opens another link."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _open_stream(self, after: int, group: str) -> HubStream:
        return HubStream(self._asking.clients, self._asking.background, self.source.partition, after, group)

    def _partition_properties(self) -> dict[str, Any]:
        return self._asking.run_query(lambda client: client.get_partition_properties(self.source.partition))

    def _check_silence(self, stream: HubStream, after: int) -> None:
        """Raise LogUnavailable if the hub was replaced, or delivers nothing although it has records after `after`."""
        tail = self.tail()
        if tail < after or (tail > after and not stream.wait_for_records(_has_any, ASK_S)):
            raise LogUnavailable(
                f"Event hub {self.source.log!r} stopped delivering partition {self.source.partition}. Headwater "
                "opens a new link."
            )


def _has_any(found: Sequence[LoggedRecord], _: int) -> bool:
    return bool(found)


class _HubQueries:
    """Queries properties of a hub and its partitions. The SDK opens a connection for each query."""

    def __init__(self, address: HubAddress):
        self.address = address
        self.clients = HubClients(address)
        self.background = BackgroundLoop()

    def run_query(self, question: Callable[[EventHubConsumerClient], Awaitable[T]]) -> T:
        """Run a query and return its result. Raises LogUnavailable if the query fails."""
        try:
            return self.background.run_coroutine(self._query_with_client(question), ASK_S)
        except Exception as error:  # the SDK raises many types
            raise LogUnavailable(explain_fault(error, self.address, "receive").message) from error

    async def _query_with_client(self, question: Callable[[EventHubConsumerClient], Awaitable[T]]) -> T:
        client = self.clients.consumer(RANGE_GROUP)
        try:
            return await question(client)
        finally:
            await close_quietly(client)
