"""Event Hubs as the log, reading side: one reader per partition, for a parser that waits for nothing but storage."""

import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from azure.eventhub.aio import EventHubConsumerClient

from headwater.errors import LogUnavailable
from headwater.eventlog import LoggedRecord
from headwater.eventlog.event_hub_background import Background
from headwater.eventlog.event_hub_clients import HubAddress, HubClients, close
from headwater.eventlog.event_hub_faults import explain
from headwater.eventlog.event_hub_records import epoch_of, sequence_of
from headwater.eventlog.event_hub_stream import HubStream
from headwater.events.position import Source

T = TypeVar("T")

ASK_S = 5.0
DELIVERY_S = 10.0
SILENCE_S = 30.0
RANGE_GROUP = "$Default"
"""Every hub has this consumer group. The trigger locks other readers out of its own (it reads with an epoch)."""


class HubReaders:
    """Looks at a hub each time it is called, and returns a reader of each partition."""

    def __init__(self, address: HubAddress, group: str):
        """Connect to nothing. group: consumer group of the parser; `$Default` is the only one of the basic tier."""
        self._asking = _Asking(address)
        self._group = group
        self._readers: list[HubReader] = []
        self._lock = threading.Lock()

    def __call__(self) -> Sequence["HubReader"]:
        """Return the readers of before unless the hub is another one now; raises LogUnavailable."""
        found = self._asking.ask(lambda client: client.get_eventhub_properties())
        epoch = epoch_of(found["created_at"])
        sources = [Source(self._asking.address.name, epoch, name) for name in found["partition_ids"]]
        with self._lock:
            if sources != [reader.source for reader in self._readers]:
                for reader in self._readers:
                    reader.close()
                self._readers = [HubReader(self._asking, source, self._group) for source in sources]
            return list(self._readers)


class HubReader:
    """One partition of a hub. `read` is for one thread, the rest for any."""

    def __init__(self, asking: "_Asking", source: Source, group: str):
        """Open nothing yet."""
        self.source = source
        self._asking = asking
        self._group = group
        self._stream: HubStream | None = None
        self._oldest: tuple[int, int] = (0, 0)

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return what the hub has delivered behind `after`; the first call opens a link, which stays open.

        That call waits for the first delivery, should there be something; later ones take what has come meanwhile.
        """
        if self._stream is None or after < self._stream.begin:
            self.close()
            self._stream = self._open(after, self._group)
            if self.tail() > after:
                self._stream.wait(_any, DELIVERY_S)
        found = self._stream.read(after, limit, max_bytes)
        if not found and time.monotonic() - self._stream.heard > SILENCE_S:
            self._stream.heard = time.monotonic()
            self._check_silence(self._stream, after)
        return found

    def read_between(self, after: int, before: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return the records between two sequences, neither included, over a link of its own; none: they are lost."""
        stream = self._open(after, RANGE_GROUP)
        try:
            stream.wait(
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
                f"Event hub {self.source.log!r} delivered nothing of partition {self.source.partition} within "
                f"{DELIVERY_S:.0f} s. It is tried again."
            )
        return [record for record in found if record.sequence < before]

    def lost(self, after: int) -> int:  # noqa: ARG002 - see the docstring
        """Return 0: that records are lost is seen when the next one comes."""
        return 0

    def in_epoch(self, epoch: str) -> Source:
        """Return where its records stand in another epoch of the log."""
        return replace(self.source, epoch=epoch)

    def at(self, sequence: int) -> None:
        """Return None: a hub cannot be restored, one that was made anew has another epoch."""

    def acknowledged(self) -> int:
        """Return 0: the service counts."""
        return 0

    def missing(self, life: Source, passed: int, acknowledged: int) -> list[tuple[int, int]]:  # noqa: ARG002 - see the docstring
        """Return none: what retention took is seen when the next record comes."""
        return []

    def tail(self) -> int:
        """Ask the hub for the newest sequence number."""
        return sequence_of(self._properties()["last_enqueued_sequence_number"])

    def head(self) -> int:
        """Ask the hub for the oldest sequence number it keeps, or the next one if it keeps none."""
        found = self._properties()
        empty = found["is_empty"]
        return sequence_of(found["last_enqueued_sequence_number"] + 1 if empty else found["beginning_sequence_number"])

    def pending(self, passed: int) -> int:
        """Count the records behind `passed`, notes of refusals included: only reading them would tell them apart."""
        return max(0, self.tail() - passed)

    def received_us(self, sequence: int) -> int | None:
        """Return when the hub stored the first record from `sequence` on (us, UTC); the last answer is kept."""
        if self._oldest[0] != sequence:
            tail = self.tail()
            found = self.read_between(sequence - 1, tail + 1, limit=1, max_bytes=1) if tail >= sequence else []
            if not found:
                return None
            self._oldest = (sequence, found[0].received_us)
        return self._oldest[1]

    def size_bytes(self) -> int:
        """Return 0: nothing of it lies here."""
        return 0

    def close(self) -> None:
        """Close the link; the next read opens one."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _open(self, after: int, group: str) -> HubStream:
        return HubStream(self._asking.clients, self._asking.background, self.source.partition, after, group)

    def _properties(self) -> dict[str, Any]:
        return self._asking.ask(lambda client: client.get_partition_properties(self.source.partition))

    def _check_silence(self, stream: HubStream, after: int) -> None:
        """Raise LogUnavailable if nothing comes although there is something, or if the hub is a new one."""
        tail = self.tail()
        if tail < after or (tail > after and not stream.wait(_any, ASK_S)):
            raise LogUnavailable(
                f"Event hub {self.source.log!r} has gone quiet on partition {self.source.partition}. It is read anew."
            )


def _any(found: Sequence[LoggedRecord], _: int) -> bool:
    return bool(found)


class _Asking:
    """Questions about a hub and its partitions, each on a connection of its own, as the SDK does it."""

    def __init__(self, address: HubAddress):
        self.address = address
        self.clients = HubClients(address)
        self.background = Background()

    def ask(self, question: Callable[[EventHubConsumerClient], Awaitable[T]]) -> T:
        """Ask; raises LogUnavailable."""
        try:
            return self.background.run(self._answer(question), ASK_S)
        except Exception as error:  # whatever the SDK raises
            raise LogUnavailable(explain(error, self.address, "receive").message) from error

    async def _answer(self, question: Callable[[EventHubConsumerClient], Awaitable[T]]) -> T:
        client = self.clients.consumer(RANGE_GROUP)
        try:
            return await question(client)
        finally:
            await close(client)
