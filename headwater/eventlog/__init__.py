"""The durable log between receiver and parser: what is written to it and what is read back."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from msgspec import Struct

from headwater.events.position import Source


class Kind(IntEnum):
    """What a record's body is: an event, the key of a claim that holds one, or a note of refused requests."""

    EVENT = 0
    CLAIM = 1
    REFUSAL = 2


class Record(Struct, frozen=True, gc=False):
    """One thing to keep; `http` is the request's metadata as JSON, without credentials."""

    kind: Kind
    body: bytes
    http: str = "{}"


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record as the log holds it: `sequence` grows by one within a partition, from 1; `received_us` is UTC."""

    sequence: int
    received_us: int
    kind: Kind
    http: str
    body: bytes


class LogWriter(Protocol):
    """The receiver's side of a log."""

    async def append(self, records: Sequence[Record], key: str, *, timeout_s: float) -> None:
        """Return only when every record is durable; raise LogUnavailable otherwise, at the latest after the timeout."""

    def trouble(self) -> str | None:
        """Say why nothing can be acknowledged right now, or None."""


class LogReader(Protocol):
    """The parser's side of one partition of a log."""

    @property
    def source(self) -> Source:
        """Name of the log, incarnation and partition."""

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        """Return at most `limit` records behind sequence `after`, in order; may have a gap at its front."""

    def tail(self) -> int:
        """Return the newest sequence number, 0 for an empty log."""
