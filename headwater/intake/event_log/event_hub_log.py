"""Writes to an event hub. An append returns after the hub has acknowledged it.

The SDK's buffered mode is not used, because it returns before it sends. A producer sends one batch at a time; several
producers with different partition keys send in parallel, and requests with the same key share a send.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from zlib import crc32

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import Record, bucket
from headwater.intake.event_log.event_hub_clients import HubAddress, HubClients
from headwater.intake.event_log.event_hub_faults import FaultLog
from headwater.intake.event_log.event_hub_lane import Lane, WaitingRecords

LANES = 4
LOOK_AGAIN_S = 2.0
_UNKNOWN = "Headwater is still connecting to the event hub. Wait a moment."


class EventHubLog:
    """The writer of one event hub; one per process, created in a running loop. Stores nothing on this machine."""

    def __init__(self, address: HubAddress, *, queued_bytes: int, forget_claims: Callable[[], None]):
        """Connect in the background.

        queued_bytes: maximum bytes of bodies in flight; forget_claims: called periodically, in a thread.
        Raises WrongSetting for an invalid connection string. A hub that is down is not an error.
        """
        self._clients = HubClients(address)
        self._faults = FaultLog(_UNKNOWN)
        self._lanes = [Lane(self._clients, self._faults) for _ in range(LANES)]
        self._limit = queued_bytes
        self._forget_claims = forget_claims
        self._in_flight = 0
        self._closing = False
        self._looking = asyncio.create_task(self._look())

    async def append(self, records: Sequence[Record], *, timeout_s: float) -> None:
        """Send the records, and return when the hub has acknowledged all of them.

        Raises LogUnavailable if the log is over capacity, the hub rejects them, or it does not acknowledge them within
        the timeout, which includes opening a link. The hub may still have stored some of them; event ids identify
        repeated requests.
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

    def trouble(self) -> str | None:
        """Return why nothing can be acknowledged right now, or None."""
        return self._faults.trouble

    def is_writing(self) -> bool:
        """Whether appends are possible at all. Before `aclose`, only a bug can end that."""
        return all(lane.is_alive() for lane in self._lanes) and not self._looking.done()

    def retain(self, passed: Callable[[], Mapping[str, int]]) -> None:  # noqa: ARG002 - see the docstring
        """Delete old claims. The hub deletes records after its own retention time, whether the lake has them or not."""
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
        by_key = groupby(sorted(records, key=_key), key=_key)  # stable: the order within a key stays
        waiting = [WaitingRecords(key, list(found), deadline, loop.create_future()) for key, found in by_key]
        for each in waiting:
            self._lanes[crc32(each.key.encode()) % LANES].add(each)
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

    async def _look(self) -> None:
        """Open the links at the start, and probe the hub during a fault, because there may be no requests."""
        while True:
            if self._faults.trouble:
                await asyncio.gather(*(lane.open() for lane in self._lanes))
            await asyncio.sleep(LOOK_AGAIN_S)


def _key(record: Record) -> str:
    return bucket(record.key)
