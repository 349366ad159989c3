"""Errors of the index: which mean that its file is not as it was written, and which come of what events say."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec

from headwater.errors import HeadwaterError, InvalidEvent
from headwater.index.stored.page_sums import check_pages
from headwater.storage_faults import DAMAGED_IN_SQLITE

_INCOMPLETE = ("no such table", "vtable constructor failed", "malformed database schema")
"""How SQLite begins its SQLITE_ERROR for a file that lacks tables of ours; for any other, our statement is wrong."""
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
    """Tell whether an error means that the file is not as it was written.

    A full disk, a lock and a wrong statement of ours do not: an index that is deleted for them fails again.
    """
    if isinstance(error, sqlite3.Error):
        code = _code(error)
        return code in DAMAGED_IN_SQLITE or (code == sqlite3.SQLITE_ERROR and str(error).startswith(_INCOMPLETE))
    return type(error) is msgspec.DecodeError  # a value that was cut or overwritten


def may_pass(error: BaseException) -> bool:
    """Tell whether the same statement may succeed later: the file is locked, or its disk does not answer."""
    return isinstance(error, sqlite3.Error) and _code(error) in _PASSING


def is_of_events(error: Exception) -> bool:
    """Tell whether an error comes of what events say; not of the disk, the lake, a setting or a damaged file."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF in _OF_EVENTS
    ours = isinstance(error, HeadwaterError) and not isinstance(error, InvalidEvent)
    return not (ours or isinstance(error, OSError) or is_damage(error))


def _code(error: sqlite3.Error) -> int | None:
    """Return the primary result code; None where Python's module raised the error itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


class DamageCheck:
    """Asks the file where an error does not say whose it is: a row that is gone ends as a TypeError, too."""

    def __init__(self) -> None:
        """No file is trusted yet."""
        self._whole: dict[Path, float] = {}

    def is_harmed(self, error: BaseException, path: Path) -> bool:
        """Tell whether an error comes of a damaged file.

        Reading one takes about a second for 200 MB: one that was whole is trusted for a minute, or each question that
        meets a fault of ours would cost that.
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
    """Read all of a file: its pages and their sums, its texts and whether its tables and their indexes agree."""
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
