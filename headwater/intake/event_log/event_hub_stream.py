"""Buffers the records that an event hub delivers for one partition, until the reader has moved past them."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from azure.eventhub import EventData

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import LoggedRecord
from headwater.intake.event_log.event_hub_background import Background
from headwater.intake.event_log.event_hub_clients import CLOSE_S, HubClients, close
from headwater.intake.event_log.event_hub_faults import explain
from headwater.intake.event_log.event_hub_records import logged_record, starting_position

BUFFER_BYTES = 32 << 20
"""Maximum buffer before deliveries pause; one more delivery may exceed it."""


class HubStream:
    """A receiving link, starting at a position. A background loop receives deliveries; one thread reads."""

    def __init__(self, clients: HubClients, background: Background, partition: str, after: int, group: str):
        """Start opening the link in the background."""
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
        self._cancel = background.start(self._receive(after))

    def read(self, after: int, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return buffered records after `after`, and drop earlier ones. Raises LogUnavailable if the link failed.

        after: at least `begin`, which is set to it.
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
            self._background.call(self._room.set)
        return found

    def wait(self, is_enough: Callable[[Sequence[LoggedRecord], int], bool], timeout_s: float) -> bool:
        """Wait until `is_enough` accepts the buffered records and their bytes, or the link has failed."""
        with self._changed:
            return self._changed.wait_for(lambda: self._fault or is_enough(self._records, self._bytes), timeout_s) != 0

    def close(self) -> None:
        """Close the link."""
        self._cancel()
        self._ended.wait(2 * CLOSE_S)

    async def _receive(self, after: int) -> None:
        client = self._clients.consumer(self._group)
        try:
            await client.receive_batch(
                self._take,
                partition_id=self._partition,
                starting_position=starting_position(after),
                on_error=self._broken,
            )
        except Exception as error:  # any SDK error: the reading thread must see it
            await self._broken(None, error)
        finally:
            await close(client)
            self._ended.set()

    async def _take(self, _: Any, events: list[EventData]) -> None:
        records = [_record(event) for event in events]
        with self._changed:
            self._records.extend(records)
            self._bytes += sum(len(record.body) for record in records)
            self.heard = time.monotonic()
            self._changed.notify_all()
        while self._bytes >= BUFFER_BYTES:
            self._room.clear()
            await self._room.wait()

    async def _broken(self, _: Any, error: Exception) -> None:
        with self._changed:
            self._fault = explain(error, self._clients.address, "receive").message
            self._changed.notify_all()


def _record(event: EventData) -> LoggedRecord:
    number, enqueued, body = event.sequence_number, event.enqueued_time, cast("Iterable[bytes]", event.body)
    assert number is not None and enqueued is not None  # noqa: PT018, S101 - a hub sets both
    return logged_record(number, enqueued, b"".join(body), event.properties)
