"""The durable event log between receiver and parser: records, writers, readers and claims."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeVar
from zlib import crc32

from msgspec import Struct

from headwater.common.errors import GiveUp
from headwater.events.position import Source

T = TypeVar("T")


class RecordKind(IntEnum):
    """The content of a record's body: an event, the key of a claim with an event, or a note of refused requests."""

    EVENT = 0
    CLAIM = 1
    REFUSAL = 2


class Record(Struct, frozen=True, gc=False):
    """A record to append.

    http: metadata of the request as JSON, without credentials; key: records with the same key stay in order, on one
    partition.
    """

    kind: RecordKind
    body: bytes
    http: str = "{}"
    key: str = ""


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A stored record. `sequence` starts at 1 and grows by one within a partition; `received_us` is UTC.

    holes: number of sequence numbers directly before it that the log used internally, without a record.
    """

    sequence: int
    received_us: int
    kind: RecordKind
    http: str
    body: bytes
    holes: int = 0


class LogWriter(Protocol):
    """The interface with which the receiver writes to a log."""

    async def append(self, records: Sequence[Record], *, timeout_s: float) -> None:
        """Return when every record is durable. Raises LogUnavailable otherwise, at the latest after the timeout."""

    def unavailability_reason(self) -> str | None:
        """Return why nothing can be acknowledged right now, or None."""


@dataclass(frozen=True, slots=True)
class LakeCheck:
    """Checks that a log on the local disk belongs to its lake, before anything is acknowledged.

    name: of the lake, without spaces; check: raises WrongSetting if the two do not belong together, Retry if the
    check is not possible now.
    """

    name: str
    check: Callable[[], None]


class Log(LogWriter, Protocol):
    """A log that a process has opened for writing."""

    def is_writing(self) -> bool:
        """Whether appends are possible at all. Before `aclose`, only a bug can end that."""

    def retain(self, passed: Callable[[], Mapping[str, int]]) -> None:
        """Request the deletion of old claims and, if the log is on the local disk, of old records that the lake has.

        passed: returns the newest sequence of each partition in the lake; may raise LakeUnavailable.
        """

    async def aclose(self) -> None:
        """Finish waiting appends, then close."""


class LogReader(Protocol):
    """One partition of a log, for the parser and the audit. All methods may raise LogUnavailable."""

    @property
    def source(self) -> Source:
        """The name of the log, its epoch and partition."""

    def in_epoch(self, epoch: str) -> Source:
        """Return the source of this partition in another epoch of the log."""

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return at most `limit` records after sequence `after`, in order. The first may be preceded by a gap.

        An empty list does not prove that there are none: they may not have arrived yet.
        """

    def read_between(self, after: int, before: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return at most `limit` records between two sequences, exclusive. An empty list means that the log lost them.

        before: the sequence of a record that the log has, or recently had.
        """

    def lost(self, after: int) -> int:
        """Return the newest sequence if the log has lost all records after `after`, else 0.

        Also 0 if a log notices a loss only when the next record arrives.
        """

    def tail(self) -> int:
        """Return the newest sequence number, or 0 for an empty log."""

    def head(self) -> int:
        """Return the oldest stored sequence number, or the next one if the log is empty."""

    def at(self, sequence: int) -> LoggedRecord | None:
        """Return one record; None if the log no longer has it, or cannot look it up quickly."""

    def acknowledged(self) -> int:
        """Return the newest acknowledged sequence number from the count file of the log; 0 without such a file.

        Services count themselves, so they return 0.
        """

    def missing(self, life: Source, passed: int, acknowledged: int) -> list[tuple[int, int]]:
        """List the ranges (first, last) after `passed` that an epoch of the log acknowledged and no longer has.

        life: the partition in that epoch; acknowledged: the newest acknowledged sequence that the lake knows.
        Services return none: a loss shows when the next record arrives.
        """

    def pending(self, passed: int) -> int:
        """Count the events after sequence `passed`. Kafka and Event Hubs also count records of refused requests."""

    def received_us(self, sequence: int) -> int | None:
        """Return when the first event from `sequence` on was received (us, UTC), or None.

        Kafka and Event Hubs also count records of refused requests.
        """

    def size_bytes(self) -> int:
        """Return the size of this partition on the local disk (bytes); 0 for services."""

    def close(self) -> None:
        """Close open connections; the next call opens them again."""


_CLAIM = re.compile(rb"[0-9a-f]{32}(-[0-9]+)?")


def claim_name(key: bytes) -> str:
    """Return the name of a claim. Raises GiveUp for an invalid key, because others may write to a log."""
    if not _CLAIM.fullmatch(key):
        raise GiveUp("This record has no valid key of a large body.")
    return key.decode()


class ClaimReader(Protocol):
    """Reads bodies that are too large for the log."""

    def get(self, key: bytes) -> bytes:
        """Return a body. Raises GiveUp if it does not exist, LogUnavailable if it cannot be read now."""


class Claims(ClaimReader, Protocol):
    """The store of bodies that are too large for the log."""

    def put(self, body: bytes) -> bytes:
        """Store a body durably and return its key. Raises LogUnavailable."""

    def size(self, key: bytes) -> int:
        """Return the length of a body in bytes; 0 if it does not exist."""


Readers = Callable[[], Sequence[LogReader]]
"""Looks up the partitions and returns a reader of each. Returns the same readers until the log is replaced.

A function, because `serve` must be able to start while a service is unavailable.
"""


def call_all_readers(readers: Sequence[LogReader], call: Callable[[LogReader], T]) -> list[T]:
    """Call a function with every reader, in parallel: each call to a service takes a while."""
    if len(readers) < 2:
        return [call(reader) for reader in readers]
    with ThreadPoolExecutor(len(readers)) as pool:
        return list(pool.map(call, readers))


BUCKETS = 64


def partition_key_of(key: str) -> str:
    """Return the partition key for a record key, the same in every process.

    The number of keys is small enough that concurrent requests share sends, and large enough to use every partition.
    """
    return f"b{crc32(key.encode('utf-8', 'surrogatepass')) % BUCKETS}"
