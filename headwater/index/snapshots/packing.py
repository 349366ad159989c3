"""Copies an index at one point in time, splits the copy into compressed pieces, and restores an index from pieces."""

import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import lz4.block

from headwater.index.snapshots.storage import PIECE_BYTES, Manifest, Position, SnapshotPiece
from headwater.index.stored.database import FORMAT, rules_code_id
from headwater.index.stored.progress import newest_generation, read_progress

_AT_ONCE = 4
"""The number of threads that upload or download pieces. There are several, because they mostly wait for the store."""


class InvalidSnapshot(Exception):
    """A snapshot is incomplete, changed or unusable. The message gives the reason."""


class IndexCopy(NamedTuple):
    """The position in bronze and the newest generation of an index copy."""

    positions: list[Position]
    generation: int


def copy_index(path: Path, target: Path) -> IndexCopy:
    """Copy an index file, which may be read and written meanwhile, at one point in time.

    Raises InvalidSnapshot, sqlite3.Error, OSError.
    """
    target.unlink(missing_ok=True)
    of_path = f"{path.as_uri()}?mode=ro"
    with closing(sqlite3.connect(of_path, uri=True)) as source, closing(sqlite3.connect(target)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        source.backup(copy)  # copies all pages in one step: the copy blocks no writer, and no write restarts the copy
    return read_copy_position(target)


def read_copy_position(path: Path) -> IndexCopy:
    """Return the position and generation of a copy.

    Raises InvalidSnapshot if the copy has another format or comes from other code of the rules, sqlite3.Error if it is
    damaged.
    """
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as copy:
        version, code = (copy.execute(f"PRAGMA {each}").fetchone()[0] for each in ("user_version", "application_id"))
        if (version, code) != (FORMAT, rules_code_id()):
            raise InvalidSnapshot(f"its file is of format {version}, and code {code}")
        positions = [(*source, sequence) for source, sequence in sorted(read_progress(copy).items())]
        return IndexCopy(positions, newest_generation(copy))


def pack_file(path: Path, store_piece: Callable[[int, bytes], object]) -> list[SnapshotPiece]:
    """Split a file into compressed pieces and pass each with its number to `store_piece`, in parallel.

    Raises the errors of `store_piece`.
    """
    size = path.stat().st_size

    def pack_piece(number: int) -> SnapshotPiece:
        content = os.pread(file.fileno(), PIECE_BYTES, number * PIECE_BYTES)
        packed: bytes = lz4.block.compress(content, store_size=False)
        store_piece(number, packed)
        return SnapshotPiece(len(packed), sha256(packed).hexdigest())

    with path.open("rb") as file, ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(pack_piece, range(-(-size // PIECE_BYTES))))


def unpack_file(manifest: Manifest, read_piece: Callable[[int], bytes | None], target: Path) -> None:
    """Restore a file from its pieces, in parallel.

    read_piece: returns a compressed piece by its number, or None if the piece is missing. Raises InvalidSnapshot if a
    piece is missing or changed, OSError if the disk rejects a write, and the errors of `read_piece`.
    """

    def unpack_piece(number: int) -> None:
        packed, piece = read_piece(number), manifest.pieces[number]
        if packed is None:
            raise InvalidSnapshot(f"piece {number} is missing")
        if len(packed) != piece.size or sha256(packed).hexdigest() != piece.sha256:
            raise InvalidSnapshot(f"piece {number} was changed")
        size = min(PIECE_BYTES, manifest.size - number * PIECE_BYTES)
        try:
            content = lz4.block.decompress(packed, uncompressed_size=size)
        except lz4.block.LZ4BlockError as error:
            raise InvalidSnapshot(f"piece {number} cannot be unpacked") from error
        if len(content) != size:
            raise InvalidSnapshot(f"piece {number} has {len(content)} bytes instead of {size}")
        os.pwrite(file.fileno(), content, number * PIECE_BYTES)

    with target.open("wb") as file, ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(unpack_piece, range(len(manifest.pieces))):
            pass
    if target.stat().st_size != manifest.size:
        raise InvalidSnapshot(f"it has {target.stat().st_size} bytes instead of {manifest.size}")
