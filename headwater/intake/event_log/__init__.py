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

    body: the content by `kind`. http: metadata of the request as JSON, without credentials. key: records with the same
    key are stored in order on one partition.
    """

    kind: RecordKind
    body: bytes
    http: str = "{}"
    key: str = ""


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A stored record.

    sequence: number of the record in its partition, from 1. received_us: time of receipt (us since 1970, UTC).
    holes: number of sequence numbers directly before this record that the log used internally, without a record.
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
        """Store the records, and return when every record is durable.

        Raises LogUnavailable if that fails or takes longer than the timeout.
        """

    def unavailability_reason(self) -> str | None:
        """Return why nothing can be acknowledged right now, or None."""


@dataclass(frozen=True, slots=True)
class LakeCheck:
    """Checks that a log on the local disk belongs to its lake, before anything is acknowledged.

    name: name of the lake, without spaces. check: raises WrongSetting if log and lake do not belong together, and Retry
    if the check is not possible now.
    """

    name: str
    check: Callable[[], None]


class Log(LogWriter, Protocol):
    """A log that a process has opened for writing."""

    def is_writing(self) -> bool:
        """Whether the log can still append records.

        Before `aclose`, it returns False only because of a bug or a fatal error.
        """

    def retain(self, passed: Callable[[], Mapping[str, int]]) -> None:
        """Request the deletion of old claims and, if the log is on the local disk, of old records that the lake has.

        passed: returns the newest sequence in the lake for each partition name; may raise LakeUnavailable.
        """

    async def aclose(self) -> None:
        """Finish waiting appends, then close the log."""


class LogReader(Protocol):
    """One partition of a log, for the parser and the audit. All methods may raise LogUnavailable."""

    @property
    def source(self) -> Source:
        """The name of the log, the epoch of the log, and the partition that this reader reads."""

    def in_epoch(self, epoch: str) -> Source:
        """Return the source of this partition in another epoch of the log."""

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return at most `limit` records after sequence `after`, in order, with about `max_bytes` of bodies.

        The sequence of the first record is larger than `after` + 1 if the log has lost records. An empty list does not
        prove that the log has no such records: they may not have arrived at the reader yet.
        """

    def read_between(self, after: int, before: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return at most `limit` records between two sequences, exclusive. An empty list means that the log lost them.

        before: the sequence of a record that the log has, or recently had.
        """

    def lost_up_to(self, after: int) -> int:
        """Return the newest sequence if the log has lost all records after `after`, else 0.

        Some logs notice a loss only when the next record arrives. They always return 0.
        """

    def tail(self) -> int:
        """Return the newest sequence number, or 0 for an empty log."""

    def head(self) -> int:
        """Return the oldest stored sequence number, or the next one if the log is empty."""

    def record_at(self, sequence: int) -> LoggedRecord | None:
        """Return the record with this sequence.

        Returns None if the log no longer has the record, or cannot look it up quickly.
        """

    def acknowledged(self) -> int:
        """Return the newest acknowledged sequence number from the count file of a local log; 0 without such a file.

        Logs of services (Kafka, Event Hubs) have no count file, so their readers return 0.
        """

    def missing_ranges(self, epoch_source: Source, passed: int, acknowledged: int) -> list[tuple[int, int]]:
        """List the ranges (first, last) after `passed` that an epoch of the log acknowledged and no longer has.

        epoch_source: the partition in that epoch. acknowledged: the newest acknowledged sequence that the lake knows.
        Readers of services return an empty list, because they notice a loss when the next record arrives.
        """

    def pending(self, passed: int) -> int:
        """Count the events after sequence `passed`.

        The readers of Kafka and Event Hubs also count notes of refused requests.
        """

    def received_us(self, sequence: int) -> int | None:
        """Return when the first event with this or a later sequence was received (us, UTC); None if there is none.

        The readers of Kafka and Event Hubs return the time of the first record, which may be a note of refused
        requests.
        """

    def size_bytes(self) -> int:
        """Return the bytes that this partition uses on the local disk; 0 for logs of services."""

    def close(self) -> None:
        """Close open connections; the next call opens them again."""


_CLAIM = re.compile(rb"[0-9a-f]{32}(-[0-9]+)?")


def claim_name(key: bytes) -> str:
    """Return the file or blob name of a claim.

    Raises GiveUp for an invalid key. Keys are checked because other programs may write to the log of a service.
    """
    if not _CLAIM.fullmatch(key):
        raise GiveUp("This record has no valid key of a large body.")
    return key.decode()


class ClaimReader(Protocol):
    """Reads bodies that are too large for the log."""

    def get(self, key: bytes) -> bytes:
        """Return the body with this key.

        Raises GiveUp if it does not exist, and LogUnavailable if it cannot be read now.
        """


class Claims(ClaimReader, Protocol):
    """The store of bodies that are too large for the log."""

    def put(self, body: bytes) -> bytes:
        """Store a body durably and return its key. Raises LogUnavailable."""

    def size(self, key: bytes) -> int:
        """Return the length of the body with this key (bytes); 0 if it does not exist."""


Readers = Callable[[], Sequence[LogReader]]
"""A function that looks up the partitions of a log and returns a reader for each.

It returns the same readers until the log is replaced. The look-up is a function so that `serve` can start while a
service is unavailable.
"""


def call_all_readers(readers: Sequence[LogReader], call: Callable[[LogReader], T]) -> list[T]:
    """Call a function with every reader in parallel, because calls to a service are slow.

    Returns the results in order.
    """
    if len(readers) < 2:
        return [call(reader) for reader in readers]
    with ThreadPoolExecutor(len(readers)) as pool:
        return list(pool.map(call, readers))


BUCKETS = 64


def partition_key_of(key: str) -> str:
    """Return one of 64 partition keys for a record key. The result is the same in every process.

    With 64 keys, concurrent requests often have the same key and share a send, but every partition is still used.
    """
    return f"b{crc32(key.encode('utf-8', 'surrogatepass')) % BUCKETS}"
