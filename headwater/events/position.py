"""Where a record stands: which log, which life of it, which partition, which sequence number."""

from dataclasses import dataclass

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Source:
    """Where sequence numbers come from: they mean something only together with these three."""

    log: str
    epoch: str
    partition: str

    @property
    def app_id(self) -> str:
        """The Delta transaction identifier under which the parser commits."""
        return f"parser/{self.log}/{self.epoch}/{self.partition}"


class Position(Struct, frozen=True, gc=False):
    """One record's place and the time it was received (us, UTC)."""

    source: Source
    sequence: int
    received_us: int

    def cells(self) -> tuple[str, str, str, int, int]:
        """Return the five columns that begin the rows of all tables by position."""
        source = self.source
        return (source.log, source.epoch, source.partition, self.sequence, self.received_us)
