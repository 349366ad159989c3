"""One producer of an event hub. Requests that wait with the same partition key share one send."""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from azure.eventhub import EventData, EventDataBatch
from azure.eventhub.aio import EventHubProducerClient

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import Record
from headwater.intake.event_log.event_hub_clients import HubClients
from headwater.intake.event_log.event_hub_faults import FaultKind, FaultLog, HubFault, explain
from headwater.intake.event_log.event_hub_records import properties_of

GROUP_BYTES = 1 << 20
OPEN_S = 5.0
_AGAIN_S = 0.3
"""The minimum time left for opening another link; measured 0.1 to 0.6 s."""
_SHORT_S = 0.05
"""Requests with less time left are not sent, because cancelling a send closes the producer."""


@dataclass(slots=True, eq=False)
class WaitingRecords:
    """The records of one request under one partition key, until `deadline` (time.monotonic)."""

    key: str
    records: Sequence[Record]
    deadline: float
    done: asyncio.Future[None]
    last_batch: int = field(default=-1)

    def size(self) -> int:
        """Return the bytes of the bodies."""
        return sum(len(record.body) for record in self.records)

    def settle(self, fault: HubFault | None) -> None:
        """Answer the request, unless it was answered or cancelled."""
        if self.done.done():
            return
        if fault:
            self.done.set_exception(LogUnavailable(fault.message))
        else:
            self.done.set_result(None)


class Lane:
    """Sends in order, one send at a time. After a failed link it discards the producer, whose state is unknown."""

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
        self._task = asyncio.create_task(self._run())

    def is_alive(self) -> bool:
        """Whether the sending task runs. Only a bug ends it."""
        return not self._task.done()

    def add(self, waiting: WaitingRecords) -> None:
        """Queue records for sending."""
        self._queue.append(waiting)
        self._wake.set()

    async def open(self) -> HubFault | None:
        """Open the link in advance of the next send. Returns the fault that prevents it, or None.

        Opening continues if the caller is cancelled; otherwise a hub that opens links slowly would never succeed.
        """
        if self._producer is not None:
            self._faults.opened()
            return None
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    async def aclose(self) -> None:
        """Send queued records, then close."""
        self._closing = True
        self._wake.set()
        await self._task
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        self._discard()

    async def _run(self) -> None:
        while True:
            if group := self._next_group():
                await self._send_group(group)
            elif self._closing:
                return
            else:
                await self._wake.wait()
                self._wake.clear()

    def _next_group(self) -> list[WaitingRecords]:
        """Remove the oldest waiting request and others with its key from the queue. Drops expired requests."""
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
        fault = await self._try(group, deadline)
        if fault and fault.kind is FaultKind.LOST and may_be_stale and deadline - time.monotonic() > _AGAIN_S:
            fault = await self._try(group, deadline)  # hubs close idle links, so one retry is not a fault
        for waiting in group:
            waiting.settle(fault)
        if fault:
            self._faults.send_failed(fault)
        else:
            self._faults.sent()

    async def _try(self, group: list[WaitingRecords], deadline: float) -> HubFault | None:
        """Send the requests that are not acknowledged yet. Returns the fault, or None."""
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                if fault := await self.open():
                    return fault
                assert self._producer, "it is open"  # noqa: S101 - only this task discards it
                producer = self._producer
                open_ = [waiting for waiting in group if not waiting.done.done()]
                batches = await _batches(producer, open_)
                for number, batch in enumerate(batches):
                    await producer.send_batch(batch, timeout=max(0.1, deadline - time.monotonic()))
                    self._has_sent = True
                    for waiting in open_:
                        if waiting.last_batch == number:
                            waiting.settle(None)
        except Exception as error:  # any SDK error means: not acknowledged
            fault = explain(error, self._clients.address, "send")
            if fault.kind is not FaultKind.THROTTLED:  # a throttled link is intact, and opening another would add load
                self._discard()
            return fault
        return None

    async def _open(self) -> HubFault | None:
        producer = self._clients.producer()
        try:
            async with asyncio.timeout(OPEN_S):
                await producer.create_batch()
        except Exception as error:  # whatever the SDK raises
            self._clients.discard(producer)
            fault = explain(error, self._clients.address, "send")
            self._faults.open_failed(fault)
            return fault
        finally:
            self._opening = None
        self._producer = producer
        self._faults.opened()
        return None

    def _discard(self) -> None:
        if self._producer is not None:
            self._clients.discard(self._producer)
            self._producer, self._has_sent = None, False


async def _batches(producer: EventHubProducerClient, group: Sequence[WaitingRecords]) -> list[EventDataBatch]:
    """Pack records into batches of the size that the hub accepts. Sets `last_batch` of each request."""
    batches: list[EventDataBatch] = []
    for waiting in group:
        for record in waiting.records:
            event = EventData(record.body)
            event.properties = properties_of(record)
            if batches and _fits(batches[-1], event):
                continue
            batch = await producer.create_batch(partition_key=waiting.key)
            if not _fits(batch, event):
                waiting.settle(_too_large(record, batch))
                break
            batches.append(batch)
        waiting.last_batch = len(batches) - 1
    return batches


def _too_large(record: Record, batch: EventDataBatch) -> HubFault:
    message = (
        f"An event of {len(record.body)} bytes exceeds the limit of the event hub ({batch.max_size_in_bytes}). "
        "Lower `claim_bytes`, so that Headwater stores such bodies as claims."
    )
    return HubFault(FaultKind.OTHER, message)


def _fits(batch: EventDataBatch, event: EventData) -> bool:
    try:
        batch.add(event)
    except ValueError:  # the batch is full
        return False
    return True
