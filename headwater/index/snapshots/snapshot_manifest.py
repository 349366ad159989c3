"""The small file that makes a snapshot of the index one: what it is of, how far it is, what it consists of."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from headwater.lake.bronze_follower import Progress

PIECE_BYTES = 4 << 20
"""Bytes of the index in each file of a snapshot, before they are compressed; the last has fewer."""

Position = tuple[str, str, int]
"""Log epoch, partition, newest sequence that the index has taken."""


class SnapshotPiece(Struct, frozen=True):
    """A file of a snapshot: its length, and its SHA-256 in hexadecimal digits."""

    size: Annotated[int, Meta(gt=0, le=2 * PIECE_BYTES)]
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """One snapshot.

    format, rules: of the file and of what it was built by; folder: of its pieces, beside this file; lake: id of table
    `events`; events: how many of its rows the index has taken, with those that were removed on purpose since;
    forgotten: what `headwater forget` had done when the index was begun; made_us: by the clock of who made it.
    """

    format: int
    rules: str
    number: int
    folder: Annotated[str, Meta(pattern=r"^[0-9]{10}-[0-9a-f]{16}$")]
    made_us: int
    generation: int
    positions: list[Position]
    lake: str
    events: int
    forgotten: str
    size: Annotated[int, Meta(gt=0)]
    pieces: list[SnapshotPiece]

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return {(epoch, partition): sequence for epoch, partition, sequence in self.positions}

    def is_whole(self) -> bool:
        """Tell whether it names as many pieces as it has bytes for."""
        return len(self.pieces) == -(-self.size // PIECE_BYTES)


def read_manifest(text: bytes) -> Manifest | None:
    """Return a manifest, None where a text is none: it was cut off, changed, or is of a release that writes others."""
    try:
        found = msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError:
        return None
    return found if found.is_whole() else None


def write_manifest(manifest: Manifest) -> bytes:
    """Return the text of a manifest."""
    return msgspec.json.encode(manifest)
