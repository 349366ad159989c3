"""Page checksums of an index file, and the classification of errors: a damaged file, a passing fault or a bad event."""

import logging
import os
import sqlite3
import time
from array import array
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from zlib import crc32

import msgspec

from headwater.common.errors import HeadwaterError, InvalidEvent
from headwater.common.storage_faults import DAMAGED_IN_SQLITE

log = logging.getLogger(__name__)

SUFFIX = "-sums"
MANY_FRAMES = 1000
"""The writer copies the `-wal` into the index file when it has this many pages, which is also SQLite's default."""

_UNKNOWN = 0
_MIN_PAGE_BYTES = 512
_WAL_HEADER, _FRAME_HEADER = 32, 24  # https://www.sqlite.org/fileformat2.html#walformat
_READ_BYTES = 1 << 20
_BLOCK = 1024
"""The number of checksums in one write."""
_RETRIES = 3


class PageChecksums:
    """Stores a CRC-32 of each page in a file next to the index file, as a list of 32-bit numbers.

    SQLite has no page checksums, so a flipped bit in a value would go unnoticed.

    The index file changes only when pages are copied from the `-wal`. The writer controls these copies. Before it
    copies pages, it marks their checksums as unknown (0). If it is killed meanwhile, no wrong checksum remains.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection):
        """Read the stored checksums of the index file `path`. Only `connection` may write the index file."""
        self._path, self._connection = path, connection
        connection.execute("PRAGMA wal_autocheckpoint=0")
        self._page_bytes: int = connection.execute("PRAGMA page_size").fetchone()[0]
        self._sums = _read_checksums(path)
        self._unknown = {number for number, each in enumerate(self._sums, 1) if each == _UNKNOWN}

    def checkpoint(self, *, min_frames: int = 0) -> None:
        """Copy the pages of the `-wal` into the index file and store their checksums.

        min_frames: do nothing if the `-wal` has fewer frames. The checksums of pages that a reader still needs in the
        `-wal` stay unknown until the next call.
        """
        wal = _WalFrames(self._path, self._page_bytes)
        try:
            if min_frames and not wal.has_frame(min_frames):
                return
            pages = wal.page_numbers() | self._unknown
            pages.update(range(len(self._sums) + 1, max(pages, default=0)))
            self._store_checksums(dict.fromkeys(pages, _UNKNOWN))
            self._unknown = pages
            is_stored = True
        except OSError as error:
            self._delete_checksums(error)
            is_stored = False
        try:
            _, in_wal, copied = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.OperationalError as error:
            log.warning("Cannot copy the index's -wal into its file (%s). The next batch tries again.", error)
            return
        if in_wal == copied and is_stored:
            self._store_checkpointed_pages()

    def _store_checkpointed_pages(self) -> None:
        try:
            with _map_file(self._path) as content:
                pages = {*self._unknown, *range(len(self._sums) + 1, len(content) // self._page_bytes + 1)}
                self._store_checksums({number: self._page_checksum(content, number) for number in pages})
            self._unknown = set()
        except OSError as error:
            self._delete_checksums(error)

    def _delete_checksums(self, error: OSError) -> None:
        """Delete all checksums, because some may be wrong. The next writer that opens the file computes them again."""
        log.warning("Cannot write the page checksums of the index (%s). A later writer computes them again.", error)
        with suppress(OSError):
            Path(f"{self._path}{SUFFIX}").unlink(missing_ok=True)
        self._sums, self._unknown = array("I"), set()

    def _page_checksum(self, content: mmap | bytes, page: int) -> int:
        return _checksum(content[(page - 1) * self._page_bytes : page * self._page_bytes])

    def _store_checksums(self, sums: dict[int, int]) -> None:
        _write_checksums(self._path, self._sums, sums)


def mark_wal_pages(path: Path) -> None:
    """Mark the checksums of the pages in a `-wal` as unknown, before the index file is opened for writing.

    SQLite copies these pages into the file at the latest when its last connection closes.
    """
    sums = _read_checksums(path)
    page_bytes = _read_page_size(path)
    if sums and page_bytes:
        _write_checksums(path, sums, dict.fromkeys(_WalFrames(path, page_bytes).page_numbers(), _UNKNOWN))


def _write_checksums(path: Path, known: "array[int]", sums: dict[int, int]) -> None:
    """Update `known`, the list of all checksums, and write its changed blocks. sums: new checksums by page number."""
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


def _read_page_size(path: Path) -> int:
    """Return the page size from the file header, or 0 if there is no file or the size is invalid.

    SQLite does not open a file with an invalid page size.
    """
    try:
        with path.open("rb") as file:
            stored = int.from_bytes(file.read(18)[16:18], "big")
    except FileNotFoundError:
        return 0
    return 65536 if stored == 1 else stored if stored >= _MIN_PAGE_BYTES else 0


def check_pages(path: Path) -> None:
    """Compare the pages of an index file with their checksums. The writer may be running meanwhile.

    Raises sqlite3.DatabaseError with the code SQLITE_CORRUPT if a page differs.
    """
    sums = _read_checksums(path)
    with suppress(FileNotFoundError):  # there is no file, or its writer has just replaced it
        _compare_checksums(path, sums)


def _compare_checksums(path: Path, sums: "array[int]") -> None:
    page_bytes = _read_page_size(path)
    if not page_bytes:
        return
    with path.open("rb") as file:
        at_once = _READ_BYTES // page_bytes
        for first in range(0, len(sums), at_once):
            content = memoryview(file.read(at_once * page_bytes))
            for number in range(first, min(first + len(content) // page_bytes, len(sums))):
                start = (number - first) * page_bytes
                if sums[number] not in (_UNKNOWN, _checksum(content[start : start + page_bytes])):
                    _recheck_page(path, number, page_bytes)


def _recheck_page(path: Path, number: int, page_bytes: int) -> None:
    """Read a page again and raise the error if it still differs from its checksum. number: from 0.

    The page may have differed only because the writer has just changed it.
    """
    for _ in range(_RETRIES):
        with path.open("rb") as file:
            found = _checksum(os.pread(file.fileno(), page_bytes, number * page_bytes))
        sums = _read_checksums(path)
        if number >= len(sums) or sums[number] in (_UNKNOWN, found):
            return
    error = sqlite3.DatabaseError(f"page {number + 1} of {path.name} differs from its checksum")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    raise error


def _read_checksums(path: Path) -> "array[int]":
    found = array("I")
    with suppress(FileNotFoundError):
        content = Path(f"{path}{SUFFIX}").read_bytes()
        found.frombytes(content[: len(content) // found.itemsize * found.itemsize])
    return found


def _checksum(page: bytes | memoryview) -> int:
    return crc32(page) or 1


class _WalFrames:
    """The current frames of a `-wal` file. Frames with other salts than the file's header are obsolete."""

    def __init__(self, path: Path, page_bytes: int):
        """path: the index file."""
        self._path = Path(f"{path}-wal")
        self._frame_bytes = _FRAME_HEADER + page_bytes

    def has_frame(self, number: int) -> bool:
        """Return whether the file has at least this many frames."""
        return any(True for _ in self._page_numbers_from(number))

    def page_numbers(self) -> set[int]:
        """Return the page numbers, from 1, of the pages in the frames."""
        return set(self._page_numbers_from(1))

    def _page_numbers_from(self, first: int) -> Iterator[int]:
        with _map_file(self._path) as content:
            salts = content[16:24]
            for at in range(_WAL_HEADER + (first - 1) * self._frame_bytes, len(content), self._frame_bytes):
                if content[at + 8 : at + 16] != salts:
                    return
                yield int.from_bytes(content[at : at + 4], "big")


@contextmanager
def _map_file(path: Path) -> Iterator[mmap | bytes]:
    """Map a file into memory. Yields empty bytes if the file is missing or empty."""
    try:
        with path.open("rb") as file:
            mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
    except (FileNotFoundError, ValueError):  # ValueError: an empty file has nothing to map
        yield b""
        return
    with mapped:
        yield mapped


_INCOMPLETE = ("no such table", "vtable constructor failed", "malformed database schema")
"""If a message of SQLITE_ERROR begins with one of these, a table is missing. Otherwise, the SQL statement is wrong."""
_TRANSIENT = (
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_SCHEMA,
)  # fmt: skip
_EVENT_ERRORS = (
    sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE,
    sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_INTERRUPT,
)  # fmt: skip
_STORED_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_CACHED_S = 60


def is_damage(error: BaseException) -> bool:
    """Return whether an error proves that the index file is damaged.

    A full disk, a lock or a wrong SQL statement is no proof, because a rebuilt index would fail in the same way.
    """
    if isinstance(error, sqlite3.Error):
        code = _sqlite_error_code(error)
        return code in DAMAGED_IN_SQLITE or (code == sqlite3.SQLITE_ERROR and str(error).startswith(_INCOMPLETE))
    return type(error) is msgspec.DecodeError  # a stored value was truncated or overwritten


def is_transient(error: BaseException) -> bool:
    """Return whether the same statement may succeed later, for example because the file is locked or its disk fails."""
    return isinstance(error, sqlite3.Error) and _sqlite_error_code(error) in _TRANSIENT


def is_caused_by_events(error: Exception) -> bool:
    """Return whether an error is caused by the content of events, not by the disk, the lake, a setting or damage."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF in _EVENT_ERRORS
    ours = isinstance(error, HeadwaterError) and not isinstance(error, InvalidEvent)
    return not (ours or isinstance(error, OSError) or is_damage(error))


def _sqlite_error_code(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary result code, or None if Python's sqlite3 module raised the error itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


class DamageCheck:
    """Decides whether an index file is damaged. If an error is ambiguous, the whole file is read and checked.

    For example, a missing row raises a TypeError, which can also be a programming error.
    """

    def __init__(self) -> None:
        self._intact: dict[Path, float] = {}

    def is_damaged(self, error: BaseException, path: Path) -> bool:
        """Return whether an error is caused by a damaged file.

        Reading a file takes about one second for each 200 MB. The result "intact" is therefore cached for a minute, so
        that a programming error does not cost that time with every question.
        """
        if is_damage(error):
            return True
        code = _sqlite_error_code(error) if isinstance(error, sqlite3.Error) else None
        is_clear = code not in (None, sqlite3.SQLITE_ERROR) or isinstance(error, HeadwaterError | OSError)
        if is_clear or not isinstance(error, Exception):
            return False
        now = time.monotonic()
        if now < self._intact.get(path, -_CACHED_S) + _CACHED_S:
            return False
        if not is_file_intact(path):
            return True
        self._intact[path] = now
        return False


def is_file_intact(path: Path) -> bool:
    """Return whether a file passes the page checksums, SQLite's integrity check, and a read of all rows."""
    try:
        check_pages(path)
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as sql:
            if sql.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                return False
            for (table,) in sql.execute(_STORED_TABLES).fetchall():
                for _ in sql.execute(f"SELECT * FROM {table}"):
                    pass
    except (sqlite3.Error, UnicodeDecodeError):
        return False
    return True
