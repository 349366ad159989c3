"""Classify errors of the index: a damaged file, a temporary fault, or an event that cannot be indexed."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec

from headwater.common.errors import HeadwaterError, InvalidEvent
from headwater.common.storage_faults import DAMAGED_IN_SQLITE
from headwater.index.stored.page_sums import check_pages

_INCOMPLETE = ("no such table", "vtable constructor failed", "malformed database schema")
"""Message prefixes of SQLITE_ERROR that mean missing tables. With other messages, the SQL statement is wrong."""
_PASSING = (
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_SCHEMA,
)  # fmt: skip
_OF_EVENTS = (
    sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE,
    sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_INTERRUPT,
)  # fmt: skip
_STORED = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_TRUSTED_S = 60


def is_damage(error: BaseException) -> bool:
    """Return whether an error proves that the index file is damaged.

    A full disk, a lock or a wrong SQL statement does not: after a rebuild, the index would fail in the same way.
    """
    if isinstance(error, sqlite3.Error):
        code = _code(error)
        return code in DAMAGED_IN_SQLITE or (code == sqlite3.SQLITE_ERROR and str(error).startswith(_INCOMPLETE))
    return type(error) is msgspec.DecodeError  # a value that was cut or overwritten


def may_pass(error: BaseException) -> bool:
    """Return whether the same statement may succeed later, for example because the file is locked or its disk fails."""
    return isinstance(error, sqlite3.Error) and _code(error) in _PASSING


def is_of_events(error: Exception) -> bool:
    """Return whether an error is caused by the content of events, not by the disk, the lake, a setting or damage."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF in _OF_EVENTS
    ours = isinstance(error, HeadwaterError) and not isinstance(error, InvalidEvent)
    return not (ours or isinstance(error, OSError) or is_damage(error))


def _code(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary result code, or None if Python's sqlite3 module raised the error itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


class DamageCheck:
    """Decide whether an index file is damaged, by reading the file if the error is ambiguous.

    For example, a missing row ends in a TypeError, as a programming error does.
    """

    def __init__(self) -> None:
        self._whole: dict[Path, float] = {}

    def is_harmed(self, error: BaseException, path: Path) -> bool:
        """Return whether an error is caused by a damaged file.

        Reading a file takes about one second for each 200 MB. The result "intact" is therefore cached for a minute, so
        that a programming error does not cost that time with every question.
        """
        if is_damage(error):
            return True
        code = _code(error) if isinstance(error, sqlite3.Error) else None
        told = code not in (None, sqlite3.SQLITE_ERROR) or isinstance(error, HeadwaterError | OSError)
        if told or not isinstance(error, Exception):
            return False
        now = time.monotonic()
        if now < self._whole.get(path, -_TRUSTED_S) + _TRUSTED_S:
            return False
        if not is_whole(path):
            return True
        self._whole[path] = now
        return False


def is_whole(path: Path) -> bool:
    """Return whether a file is intact: page checksums, SQLite's integrity check, and a read of all rows."""
    try:
        check_pages(path)
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as sql:
            if sql.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                return False
            for (table,) in sql.execute(_STORED).fetchall():
                for _ in sql.execute(f"SELECT * FROM {table}"):
                    pass
    except (sqlite3.Error, UnicodeDecodeError):
        return False
    return True
