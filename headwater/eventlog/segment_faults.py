"""What goes wrong with a file of the SQLite log: one that cannot be read is neither empty nor gone."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.errors import LogMissing, LogUnavailable
from headwater.storage_faults import DAMAGED_IN_SQLITE, explain

NO_HEADER = "it has no header"
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
FAULTS = (sqlite3.Error, OSError, ValueError, TypeError, MemoryError)
"""What reading a segment ends with: harmed rows have no kind, no text, nothing at all, or a length beyond memory."""
_RESTORE = (
    "Stop Headwater and restore the file from a copy, or move it away: then what it held and the lake does not is "
    "lost, and noted as a gap."
)
_PUT_BACK = (
    "Nothing is acknowledged until its files are back as they were. If they are lost, stop Headwater and run "
    "`headwater log new-epoch`; `headwater audit` says which records were lost with them."
)


@contextmanager
def using(path: Path) -> Iterator[None]:
    """Turn what goes wrong with a segment into LogUnavailable."""
    try:
        yield
    except FAULTS as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: Exception) -> LogUnavailable:
    """Say why a segment cannot be used now and what to do about it."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _LOCKED:
        return LogUnavailable(
            f"Another program has locked the log segment {path}. End it, such as a backup or a browser of databases; "
            "until then it is tried again."
        )
    if code in DAMAGED_IN_SQLITE and not isinstance(error, OSError):
        return damaged(path, str(error) or type(error).__name__)
    return LogUnavailable(f"Cannot use the log segment {path}: {explain(error, 'data')}")


def damaged(path: Path, what: str) -> LogUnavailable:
    """Say that a segment is not as it was written; only a person may give up what it held."""
    return LogUnavailable(f"The log segment {path} is damaged: {what}. {_RESTORE}")


def misplaced(path: Path) -> LogUnavailable:
    """Say that somebody deleted, moved or replaced the segment that is written."""
    return LogUnavailable(f"The log segment {path} was deleted, moved or replaced while it was written. {_PUT_BACK}")


def missing(folder: Path, sequence: int) -> LogMissing:
    """Say that there is no log where one has acknowledged records up to `sequence`."""
    return LogMissing(
        f"The event log is gone from {folder}: it had acknowledged records up to sequence {sequence}. {_PUT_BACK}"
    )


def is_other(folder: Path, what: str) -> LogUnavailable:
    """Say that a log lacks what it has acknowledged."""
    return LogUnavailable(f"The event log in {folder} is not the one that was written there: {what}. {_PUT_BACK}")


def is_gone(path: Path) -> bool:
    """Tell whether a file is not there, which is more than that it cannot be read."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def check_not_cut(path: Path) -> None:
    """Raise LogUnavailable for a file cut to nothing beside records: SQLite would delete them with the side file."""
    side = Path(f"{path}-wal")
    if (
        side.is_file() and side.stat().st_size and path.is_file() and not path.stat().st_size
    ):  # the side file is younger
        raise damaged(path, "it is empty, yet records wait in its side file")
