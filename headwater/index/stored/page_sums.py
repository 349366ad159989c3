"""Page checksums of an index file. SQLite has none, so a flipped bit in a value would go unnoticed."""

import logging
import os
import sqlite3
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from zlib import crc32

log = logging.getLogger(__name__)

SUFFIX = "-sums"
MANY_FRAMES = 1000
"""The number of pages in the `-wal` file at which the writer copies them into the index file; also SQLite's default."""

_UNKNOWN = 0
_LEAST_PAGE_BYTES = 512
_WAL_HEADER, _FRAME_HEADER = 32, 24  # https://www.sqlite.org/fileformat2.html#walformat
_READ_BYTES = 1 << 20
_BLOCK = 1024
"""The number of checksums in one write."""
_LOOKS = 3


class PageSums:
    """Stores a CRC-32 of each page in a file next to the index file, as a list of 32-bit numbers.

    The index file changes only when pages are copied from the `-wal`. The writer controls these copies: before each
    one, it marks the checksums of the pages as unknown (0). A kill in between therefore leaves no wrong checksum.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection):
        """Read the checksums. No other connection may write the index file."""
        self._path, self._connection = path, connection
        connection.execute("PRAGMA wal_autocheckpoint=0")
        self._page_bytes: int = connection.execute("PRAGMA page_size").fetchone()[0]
        self._sums = _sums_of(path)
        self._unknown = {number for number, each in enumerate(self._sums, 1) if each == _UNKNOWN}

    def checkpoint(self, *, least_frames: int = 0) -> None:
        """Copy the pages of the `-wal` into the index file and store their checksums.

        least_frames: do nothing if the `-wal` has fewer frames. Pages that a reader still needs in the `-wal` stay
        unknown until the next call.
        """
        wal = _Wal(self._path, self._page_bytes)
        try:
            if least_frames and not wal.has_frame(least_frames):
                return
            pages = wal.pages() | self._unknown
            pages.update(range(len(self._sums) + 1, max(pages, default=0)))
            self._note(dict.fromkeys(pages, _UNKNOWN))
            self._unknown = pages
            is_noted = True
        except OSError as error:
            self._forget(error)
            is_noted = False
        try:
            _, in_wal, copied = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.OperationalError as error:
            log.warning("The index's -wal cannot be copied into its file (%s). The next batch tries again.", error)
            return
        if in_wal == copied and is_noted:
            self._note_copied()

    def _note_copied(self) -> None:
        try:
            with _mapped(self._path) as content:
                pages = {*self._unknown, *range(len(self._sums) + 1, len(content) // self._page_bytes + 1)}
                self._note({number: self._sum_in(content, number) for number in pages})
            self._unknown = set()
        except OSError as error:
            self._forget(error)

    def _forget(self, error: OSError) -> None:
        """Delete the checksums rather than keep wrong ones. The next writer that opens the file computes them again."""
        log.warning("The sums of the index's pages cannot be written (%s). They are written again later.", error)
        with suppress(OSError):
            Path(f"{self._path}{SUFFIX}").unlink(missing_ok=True)
        self._sums, self._unknown = array("I"), set()

    def _sum_in(self, content: mmap | bytes, page: int) -> int:
        return _sum(content[(page - 1) * self._page_bytes : page * self._page_bytes])

    def _note(self, sums: dict[int, int]) -> None:
        _write(self._path, self._sums, sums)


def expect_copying(path: Path) -> None:
    """Mark the checksums of the pages in a `-wal` as unknown, before the index file is opened for writing.

    SQLite copies these pages into the file at the latest when its last connection closes.
    """
    sums = _sums_of(path)
    page_bytes = _page_bytes(path)
    if sums and page_bytes:
        _write(path, sums, dict.fromkeys(_Wal(path, page_bytes).pages(), _UNKNOWN))


def _write(path: Path, known: "array[int]", sums: dict[int, int]) -> None:
    """Update checksums by page number, and write the blocks that contain them."""
    missing = max(sums, default=0) - len(known)
    known.extend([_UNKNOWN] * missing)
    for number, each in sums.items():
        known[number - 1] = each
    descriptor = os.open(f"{path}{SUFFIX}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        for block in {(number - 1) // _BLOCK for number in sums}:
            some = known[block * _BLOCK : (block + 1) * _BLOCK]
            os.pwrite(descriptor, some.tobytes(), block * _BLOCK * some.itemsize)
    finally:
        os.close(descriptor)


def _page_bytes(path: Path) -> int:
    """Return the page size from the file header, or 0 if it is invalid, so that SQLite rejects the file."""
    try:
        with path.open("rb") as file:
            said = int.from_bytes(file.read(18)[16:18], "big")
    except FileNotFoundError:
        return 0
    return 65536 if said == 1 else said if said >= _LEAST_PAGE_BYTES else 0


def check_pages(path: Path) -> None:
    """Compare the pages of an index file with their checksums. The writer may be running meanwhile.

    Raises sqlite3.DatabaseError with the code SQLITE_CORRUPT if a page differs.
    """
    sums = _sums_of(path)
    with suppress(FileNotFoundError):  # no such file, or its writer has just replaced it
        _compare(path, sums)


def _compare(path: Path, sums: "array[int]") -> None:
    page_bytes = _page_bytes(path)
    if not page_bytes:
        return
    with path.open("rb") as file:
        at_once = _READ_BYTES // page_bytes
        for first in range(0, len(sums), at_once):
            content = memoryview(file.read(at_once * page_bytes))
            for number in range(first, min(first + len(content) // page_bytes, len(sums))):
                start = (number - first) * page_bytes
                if sums[number] not in (_UNKNOWN, _sum(content[start : start + page_bytes])):
                    _look_again(path, number, page_bytes)


def _look_again(path: Path, number: int, page_bytes: int) -> None:
    """Raise the error for a page unless the writer has just changed it: it marks the page before it writes."""
    for _ in range(_LOOKS):
        with path.open("rb") as file:
            found = _sum(os.pread(file.fileno(), page_bytes, number * page_bytes))
        sums = _sums_of(path)
        if number >= len(sums) or sums[number] in (_UNKNOWN, found):
            return
    error = sqlite3.DatabaseError(f"page {number + 1} of {path.name} has changed since it was written")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    raise error


def _sums_of(path: Path) -> "array[int]":
    found = array("I")
    with suppress(FileNotFoundError):
        content = Path(f"{path}{SUFFIX}").read_bytes()
        found.frombytes(content[: len(content) // found.itemsize * found.itemsize])
    return found


def _sum(page: bytes | memoryview) -> int:
    return crc32(page) or 1


class _Wal:
    """The current frames of a `-wal` file, that is, those with the same salts as its header."""

    def __init__(self, path: Path, page_bytes: int):
        """path: the index file."""
        self._path = Path(f"{path}-wal")
        self._frame_bytes = _FRAME_HEADER + page_bytes

    def has_frame(self, number: int) -> bool:
        """Return whether the file has at least this many frames."""
        return any(True for _ in self._pages_from(number))

    def pages(self) -> set[int]:
        """Return the numbers of the pages in the frames."""
        return set(self._pages_from(1))

    def _pages_from(self, first: int) -> Iterator[int]:
        with _mapped(self._path) as content:
            salts = content[16:24]
            for at in range(_WAL_HEADER + (first - 1) * self._frame_bytes, len(content), self._frame_bytes):
                if content[at + 8 : at + 16] != salts:
                    return
                yield int.from_bytes(content[at : at + 4], "big")


@contextmanager
def _mapped(path: Path) -> Iterator[mmap | bytes]:
    """Map a file into memory. A missing or empty file gives empty bytes."""
    try:
        with path.open("rb") as file:
            mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
    except (FileNotFoundError, ValueError):  # ValueError: an empty file has nothing to map
        yield b""
        return
    with mapped:
        yield mapped
