"""Detects a damaged write-ahead log of a segment.

SQLite silently ignores a frame with a wrong checksum, and all frames after it, as if their records had never been
written. File format: https://www.sqlite.org/walformat.html
"""

import struct
import sys
from pathlib import Path

from headwater.common.errors import LogDamaged

_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoints, two salts, two checksums
_FRAME = struct.Struct(">6I")  # page, pages after a commit, two salts, two checksums
_NEWEST_FRAME = 16
"""Offset of the number of valid frames in the `-shm` file, in native byte order."""


def check_frames(segment: Path) -> None:
    """Raise LogDamaged if SQLite ignored frames of the segment's `-wal` file.

    Call it only if acknowledged records are missing, because a power cut may also leave frames of an unfinished commit.
    The segment must be open, because SQLite counts the valid frames when it opens it.
    """
    wal = Path(f"{segment}-wal")
    try:
        ignored = _ignored_frames(wal, Path(f"{segment}-shm"))
    except FileNotFoundError:
        return
    if ignored:
        raise LogDamaged(
            f"The file {wal} is damaged: SQLite ignores {ignored} of its pages, because a checksum does not match. "
            "Acknowledged records in them cannot be read. Headwater acknowledges nothing until the file is restored. "
            "Stop Headwater and restore the file from a copy. Without a copy, run `headwater log new-epoch`; "
            "`headwater audit` lists the lost records."
        )


def _ignored_frames(wal: Path, shm: Path) -> int:
    """Count the frames after the last valid one that belong to the current generation of the file."""
    with wal.open("rb") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return 0
        magic, _, page_bytes, _, *salts = _HEADER.unpack(header)[:6]
        frame_bytes = _FRAME.size + page_bytes
        frames = (wal.stat().st_size - _HEADER.size) // frame_bytes if 512 <= page_bytes <= 65536 else 0
        if not _is_valid(header, magic):
            return max(1, frames)
        valid = int.from_bytes(shm.read_bytes()[_NEWEST_FRAME : _NEWEST_FRAME + 4], sys.byteorder)
        found = 0
        for frame in range(valid, frames):
            file.seek(_HEADER.size + frame * frame_bytes)
            _, _, first, second, *_ = _FRAME.unpack(file.read(_FRAME.size))
            found += first == salts[0] or second == salts[1]  # frames of an earlier generation have other salts
        return found


def _is_valid(header: bytes, magic: int) -> bool:
    """Whether the checksum of the header is correct."""
    words = struct.unpack(f"{'>' if magic & 1 else '<'}6I", header[:24])
    first = second = 0
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return (first, second) == struct.unpack(">2I", header[24:])
