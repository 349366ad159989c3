"""The manifest of a snapshot: which index it is of, its position in bronze, and its pieces."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from headwater.lake.bronze_follower import Progress

PIECE_BYTES = 4 << 20
"""Uncompressed bytes of the index in each piece of a snapshot. The last piece is smaller."""

Position = tuple[str, str, int]
"""Log epoch, partition, and the newest sequence that the index has processed."""


class SnapshotPiece(Struct, frozen=True):
    """A file of a snapshot: its size in bytes and its hexadecimal SHA-256."""

    size: Annotated[int, Meta(gt=0, le=2 * PIECE_BYTES)]
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """One snapshot.

    format: of the index file. rules: hash of the rules that built it. folder: of its pieces, next to this file. lake:
    id of table `events`. events: number of its rows that the index has processed, including rows that were removed on
    purpose since. forgotten: what `headwater forget` had erased when the index was started. made_us: by the clock of
    the machine that made it.
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
        """The position of the snapshot in bronze."""
        return {(epoch, partition): sequence for epoch, partition, sequence in self.positions}

    def is_whole(self) -> bool:
        """Return whether the number of pieces fits the size of the index."""
        return len(self.pieces) == -(-self.size // PIECE_BYTES)


def read_manifest(text: bytes) -> Manifest | None:
    """Return the manifest in a text, or None if it is invalid: truncated, changed, or from an incompatible release."""
    try:
        found = msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError:
        return None
    return found if found.is_whole() else None


def write_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as JSON."""
    return msgspec.json.encode(manifest)
