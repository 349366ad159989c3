"""The position of a record: log, epoch, partition and sequence number."""

from dataclasses import dataclass

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Source:
    """One partition of one epoch of one log. Sequence numbers are unique only within a source."""

    log: str
    epoch: str
    partition: str

    @property
    def app_id(self) -> str:
        """The Delta transaction identifier of the parser's commits."""
        return f"parser/{self.log}/{self.epoch}/{self.partition}"


class Position(Struct, frozen=True, gc=False):
    """The position of one record, and its time of receipt (us, UTC)."""

    source: Source
    sequence: int
    received_us: int

    def cells(self) -> tuple[str, str, str, int, int]:
        """Return the first five columns of tables that are ordered by position."""
        source = self.source
        return (source.log, source.epoch, source.partition, self.sequence, self.received_us)
