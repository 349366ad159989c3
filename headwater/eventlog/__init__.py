"""The durable log between receiver and parser: what is written to it and what is read back."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeVar
from zlib import crc32

from msgspec import Struct

from headwater.errors import GiveUp
from headwater.events.position import Source

T = TypeVar("T")


class RecordKind(IntEnum):
    """What a record's body is: an event, the key of a claim that holds one, or a note of refused requests."""

    EVENT = 0
    CLAIM = 1
    REFUSAL = 2


class Record(Struct, frozen=True, gc=False):
    """One thing to keep.

    http: the request's metadata as JSON, without credentials; key: records of one key stay in order, on one partition.
    """

    kind: RecordKind
    body: bytes
    http: str = "{}"
    key: str = ""


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record as the log holds it: `sequence` grows by one within a partition, from 1; `received_us` is UTC.

    holes: how many sequence numbers right before it the log has used for itself: nothing was received under them.
    """

    sequence: int
    received_us: int
    kind: RecordKind
    http: str
    body: bytes
    holes: int = 0


class LogWriter(Protocol):
    """The receiver's side of a log."""

    async def append(self, records: Sequence[Record], *, timeout_s: float) -> None:
        """Return only when every record is durable; raise LogUnavailable otherwise, at the latest after the timeout."""

    def trouble(self) -> str | None:
        """Say why nothing can be acknowledged right now, or None."""


@dataclass(frozen=True, slots=True)
class LakeCheck:
    """Holds a log on our own disk against its lake, before anything is acknowledged.

    name: of the lake, without spaces; check: raises WrongSetting where the two do not belong together, Retry where
    that cannot be told now.
    """

    name: str
    check: Callable[[], None]


class Log(LogWriter, Protocol):
    """A log as the process sees it that keeps it open for writing."""

    def is_writing(self) -> bool:
        """Tell whether appends can be taken at all; only a fault of ours ends that before `aclose`."""

    def retain(self, passed: Callable[[], Mapping[str, int]]) -> None:
        """Let go, soon, of what is old and passed: records only where the log lies on our own disk, and claims.

        passed: asks the lake for the newest sequence that it holds of each partition; may raise LakeUnavailable.
        """

    async def aclose(self) -> None:
        """Finish what waits, then close."""


class LogReader(Protocol):
    """One partition of a log, for the parser and for whoever counts. All methods raise LogUnavailable."""

    @property
    def source(self) -> Source:
        """Name of the log, its epoch and partition."""

    def in_epoch(self, epoch: str) -> Source:
        """Return where its records stand in another epoch of the log."""

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return at most `limit` records behind sequence `after`, in order; may have a gap at its front.

        None may also mean: not here yet. Nothing may be concluded from it.
        """

    def read_between(self, after: int, before: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return at most `limit` records between two sequences, neither included; none means: the log has lost them.

        before: a record that the log holds, or held a moment ago.
        """

    def lost(self, after: int) -> int:
        """Return the newest sequence if there are some behind `after` and the log holds none of them, else 0.

        A log that notices only when the next record comes returns 0.
        """

    def tail(self) -> int:
        """Return the newest sequence number, 0 for an empty log."""

    def head(self) -> int:
        """Return the oldest sequence number still kept, or the next one if none is."""

    def at(self, sequence: int) -> LoggedRecord | None:
        """Return one record, None where the log has it no more, or cannot say without a wait."""

    def acknowledged(self) -> int:
        """Return the newest sequence number that was acknowledged, as a count beside the log has it; 0 without one.

        A service counts by itself.
        """

    def missing(self, life: Source, passed: int, acknowledged: int) -> list[tuple[int, int]]:
        """List what an epoch of the log acknowledged behind `passed` and has no more: first and last of each range.

        acknowledged: how far it was, as far as the lake knows. A service never tells: it is seen when the next comes.
        """

    def pending(self, passed: int) -> int:
        """Count the events behind sequence `passed`; notes of refusals count where only reading would tell them."""

    def received_us(self, sequence: int) -> int | None:
        """Return when the first event from `sequence` on was received (us, UTC), None if there is none.

        A note of refusals counts where only reading would tell it from an event.
        """

    def size_bytes(self) -> int:
        """Return the bytes of this partition on our own disk, 0 where a service keeps it."""

    def close(self) -> None:
        """Close what is open; the next call opens it again."""


_CLAIM = re.compile(rb"[0-9a-f]{32}(-[0-9]+)?")


def claim_name(key: bytes) -> str:
    """Return the name under which a claim lies; raises GiveUp for what is no key: others may write to a log as well."""
    if not _CLAIM.fullmatch(key):
        raise GiveUp("This record names no large body.")
    return key.decode()


class ClaimReader(Protocol):
    """Gives bodies that are too large for the log."""

    def get(self, key: bytes) -> bytes:
        """Return a body; raises GiveUp if it is gone, LogUnavailable if it cannot be read right now."""


class Claims(ClaimReader, Protocol):
    """Where bodies lie that are too large for the log, until their record leaves it."""

    def put(self, body: bytes) -> bytes:
        """Keep a body; durable when this returns. Returns its key; raises LogUnavailable."""

    def size(self, key: bytes) -> int:
        """Return a body's length in bytes, 0 if it is gone."""


Readers = Callable[[], Sequence[LogReader]]
"""Looks which partitions there are and returns a reader of each: those of before, unless the log is another one.

Only when asked, because `serve` must start while a service is down.
"""


def each(readers: Sequence[LogReader], ask: Callable[[LogReader], T]) -> list[T]:
    """Ask every reader, all at once: a service answers in a while, each on a connection of its own."""
    if len(readers) < 2:
        return [ask(reader) for reader in readers]
    with ThreadPoolExecutor(len(readers)) as pool:
        return list(pool.map(ask, readers))


BUCKETS = 64


def bucket(key: str) -> str:
    """Return the partition key of a record's key, the same in every process.

    So few that what arrives at one moment shares sends, enough to use every partition.
    """
    return f"b{crc32(key.encode('utf-8', 'surrogatepass')) % BUCKETS}"
