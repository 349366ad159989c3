"""Writes to an event hub. An append returns after the hub has acknowledged it.

The SDK's buffered mode is not used, because it returns before it sends. A producer of the SDK sends one batch at a
time. Several producers, each for different partition keys, send in parallel, and requests with the same key share a
batch.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from zlib import crc32

from azure.eventhub import EventData, EventDataBatch
from azure.eventhub.aio import EventHubProducerClient

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import Record, partition_key_of
from headwater.intake.event_log.event_hub_clients import HubAddress, HubClients
from headwater.intake.event_log.event_hub_faults import FaultKind, FaultLog, HubFault, explain_fault
from headwater.intake.event_log.event_hub_records import properties_of

GROUP_BYTES = 1 << 20
OPEN_S = 5.0
_AGAIN_S = 0.3
"""Minimum seconds before the deadline for a second attempt, which opens another link. Opening takes 0.1 to 0.6 s."""
_SHORT_S = 0.05
"""Requests with fewer seconds before the deadline are not sent, because cancelling a send closes the producer."""


@dataclass(slots=True, eq=False)
class WaitingRecords:
    """The records of one request with one partition key.

    deadline: when the request expires (time.monotonic). done: completed when the hub has acknowledged all records.
    last_batch: index of the batch with the last record.
    """

    key: str
    records: Sequence[Record]
    deadline: float
    done: asyncio.Future[None]
    last_batch: int = field(default=-1)

    def size(self) -> int:
        """Return the sum of the body sizes (bytes)."""
        return sum(len(record.body) for record in self.records)

    def answer_request(self, fault: HubFault | None) -> None:
        """Complete the request, unless it was answered or cancelled.

        fault: the reason of failure, or None for success.
        """
        if self.done.done():
            return
        if fault:
            self.done.set_exception(LogUnavailable(fault.message))
        else:
            self.done.set_result(None)


class OrderedSender:
    """Sends queued records in order, one batch at a time.

    After most errors it discards the SDK's producer, because the state of the producer is unknown.
    """

    def __init__(self, clients: HubClients, faults: FaultLog):
        """Start the sending task. Needs a running event loop."""
        self._clients = clients
        self._faults = faults
        self._queue: deque[WaitingRecords] = deque()
        self._wake = asyncio.Event()
        self._producer: EventHubProducerClient | None = None
        self._opening: asyncio.Task[HubFault | None] | None = None
        self._has_sent = False
        self._closing = False
        self._task = asyncio.create_task(self._send_queued())

    def is_alive(self) -> bool:
        """Whether the sending task runs. Before `aclose`, only a bug ends the task."""
        return not self._task.done()

    def queue_records(self, waiting: WaitingRecords) -> None:
        """Queue records for sending."""
        self._queue.append(waiting)
        self._wake.set()

    async def open_link(self) -> HubFault | None:
        """Open the link before the next send needs it.

        Returns the fault that prevents this, or None if the link is open. If the caller is cancelled, opening
        continues. Otherwise a link that opens more slowly than requests expire would never open.
        """
        if self._producer is not None:
            self._faults.record_open_link()
            return None
        if self._opening is None:
            self._opening = asyncio.create_task(self._open_link())
        return await asyncio.shield(self._opening)

    async def aclose(self) -> None:
        """Send queued records, then close."""
        self._closing = True
        self._wake.set()
        await self._task
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        self._discard_producer()

    async def _send_queued(self) -> None:
        while True:
            if group := self._next_group():
                await self._send_group(group)
            elif self._closing:
                return
            else:
                await self._wake.wait()
                self._wake.clear()

    def _next_group(self) -> list[WaitingRecords]:
        """Remove and return the oldest waiting request and later requests with the same key. Drops expired requests."""
        group: list[WaitingRecords] = []
        rest: deque[WaitingRecords] = deque()
        size, latest = 0, time.monotonic() + _SHORT_S
        for waiting in self._queue:
            if waiting.done.done() or waiting.deadline < latest:
                continue
            if (not group or waiting.key == group[0].key) and size < GROUP_BYTES:
                group.append(waiting)
                size += waiting.size()
            else:
                rest.append(waiting)
        self._queue = rest
        return group

    async def _send_group(self, group: list[WaitingRecords]) -> None:
        deadline = max(waiting.deadline for waiting in group)
        may_be_stale = self._has_sent
        fault = await self._try_group(group, deadline)
        if fault and fault.kind is FaultKind.LOST and may_be_stale and deadline - time.monotonic() > _AGAIN_S:
            fault = await self._try_group(group, deadline)  # hubs close idle links, so one retry is not a fault
        for waiting in group:
            waiting.answer_request(fault)
        if fault:
            self._faults.record_send_fault(fault)
        else:
            self._faults.record_send()

    async def _try_group(self, group: list[WaitingRecords], deadline: float) -> HubFault | None:
        """Send the requests of a group that are not acknowledged yet. Returns the fault that prevented it, or None."""
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                if fault := await self.open_link():
                    return fault
                assert self._producer, "it is open"  # noqa: S101 - only this task discards it
                producer = self._producer
                open_ = [waiting for waiting in group if not waiting.done.done()]
                batches = await _pack_batches(producer, open_)
                for number, batch in enumerate(batches):
                    await producer.send_batch(batch, timeout=max(0.1, deadline - time.monotonic()))
                    self._has_sent = True
                    for waiting in open_:
                        if waiting.last_batch == number:
                            waiting.answer_request(None)
        except Exception as error:  # any SDK error means: not acknowledged
            fault = explain_fault(error, self._clients.address, "send")
            if fault.kind is not FaultKind.THROTTLED:  # a throttled link is intact, and opening another would add load
                self._discard_producer()
            return fault
        return None

    async def _open_link(self) -> HubFault | None:
        producer = self._clients.producer()
        try:
            async with asyncio.timeout(OPEN_S):
                await producer.create_batch()
        except Exception as error:  # whatever the SDK raises
            self._clients.close_in_background(producer)
            fault = explain_fault(error, self._clients.address, "send")
            self._faults.record_open_fault(fault)
            return fault
        finally:
            self._opening = None
        self._producer = producer
        self._faults.record_open_link()
        return None

    def _discard_producer(self) -> None:
        if self._producer is not None:
            self._clients.close_in_background(self._producer)
            self._producer, self._has_sent = None, False


async def _pack_batches(producer: EventHubProducerClient, group: Sequence[WaitingRecords]) -> list[EventDataBatch]:
    """Pack the records of requests into batches of the size that the hub accepts.

    Sets `last_batch` of each request, and answers a request with an error if one of its records is too large.
    """
    batches: list[EventDataBatch] = []
    for waiting in group:
        for record in waiting.records:
            event = EventData(record.body)
            event.properties = properties_of(record)
            if batches and _add_if_it_fits(batches[-1], event):
                continue
            batch = await producer.create_batch(partition_key=waiting.key)
            if not _add_if_it_fits(batch, event):
                waiting.answer_request(_too_large_fault(record, batch))
                break
            batches.append(batch)
        waiting.last_batch = len(batches) - 1
    return batches


def _too_large_fault(record: Record, batch: EventDataBatch) -> HubFault:
    message = (
        f"An event of {len(record.body)} bytes exceeds the limit of the event hub ({batch.max_size_in_bytes}). "
        "Lower `claim_bytes`, so that Headwater stores such bodies as claims."
    )
    return HubFault(FaultKind.OTHER, message)


def _add_if_it_fits(batch: EventDataBatch, event: EventData) -> bool:
    try:
        batch.add(event)
    except ValueError:  # the batch is full
        return False
    return True


LANES = 4
LOOK_AGAIN_S = 2.0
_UNKNOWN = "Headwater is still connecting to the event hub. Wait a moment."


class EventHubLog:
    """Writes to one event hub. Create one instance per process, in a running event loop.

    Stores nothing on this machine.
    """

    def __init__(self, address: HubAddress, *, queued_bytes: int, forget_claims: Callable[[], None]):
        """Connect in the background.

        queued_bytes: maximum bytes of bodies that wait for acknowledgement. forget_claims: deletes old claims; `retain`
        calls it. Raises WrongSetting for an invalid connection string, but no error if the hub is down.
        """
        self._clients = HubClients(address)
        self._faults = FaultLog(_UNKNOWN)
        self._lanes = [OrderedSender(self._clients, self._faults) for _ in range(LANES)]
        self._limit = queued_bytes
        self._forget_claims = forget_claims
        self._in_flight = 0
        self._closing = False
        self._looking = asyncio.create_task(self._probe_during_faults())

    async def append(self, records: Sequence[Record], *, timeout_s: float) -> None:
        """Send the records, and return when the hub has acknowledged all of them.

        Raises LogUnavailable if too many bytes wait, the hub rejects the records, or the hub does not acknowledge them
        within the timeout, which includes opening a link. The hub may still have stored some records. If the producer
        repeats the request, the event ids identify the duplicates.
        """
        if self._closing:
            raise LogUnavailable("Headwater is stopping. Send the event again in a moment.")
        size = sum(len(record.body) for record in records)
        if self._in_flight and self._in_flight + size > self._limit:
            raise LogUnavailable("Over capacity: too many events are waiting. Send the event again in a moment.")
        self._in_flight += size
        try:
            await self._send(records, timeout_s)
        finally:
            self._in_flight -= size

    def unavailability_reason(self) -> str | None:
        """Return why nothing can be acknowledged right now, or None."""
        return self._faults.trouble

    def is_writing(self) -> bool:
        """Whether the tasks of the log run. Before `aclose`, only a bug ends them."""
        return all(lane.is_alive() for lane in self._lanes) and not self._looking.done()

    def retain(self, passed: Callable[[], Mapping[str, int]]) -> None:  # noqa: ARG002 - see the docstring
        """Delete old claims.

        `passed` is not used: the hub deletes records after its own retention time, even if the lake lacks them.
        """
        self._forget_claims()

    async def aclose(self) -> None:
        """Send queued records, then close."""
        self._closing = True
        self._looking.cancel()
        await asyncio.gather(*(lane.aclose() for lane in self._lanes))
        await self._clients.aclose()

    async def _send(self, records: Sequence[Record], timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = time.monotonic() + timeout_s
        by_key = groupby(
            sorted(records, key=_partition_key), key=_partition_key
        )  # stable: the order within a key stays
        waiting = [WaitingRecords(key, list(found), deadline, loop.create_future()) for key, found in by_key]
        for each in waiting:
            self._lanes[crc32(each.key.encode()) % LANES].queue_records(each)
        answers = [each.done for each in waiting]
        try:
            await asyncio.wait(answers, timeout=timeout_s)
            late = not all(answer.done() for answer in answers)
            errors = [error for answer in answers if answer.done() and (error := answer.exception())]
        finally:
            for answer in answers:
                if answer.done():
                    answer.exception()  # retrieved, so that asyncio does not log it if the caller was cancelled
                else:
                    answer.cancel()  # queued records need not be sent any more
        if errors:
            raise errors[0]
        if late:
            raise LogUnavailable(f"The event hub did not acknowledge within {timeout_s:.1f} s. Send the event again.")

    async def _probe_during_faults(self) -> None:
        """Open the links at the start and during a fault.

        Without these attempts, a fault would not end while no request arrives.
        """
        while True:
            if self._faults.trouble:
                await asyncio.gather(*(lane.open_link() for lane in self._lanes))
            await asyncio.sleep(LOOK_AGAIN_S)


def _partition_key(record: Record) -> str:
    return partition_key_of(record.key)
