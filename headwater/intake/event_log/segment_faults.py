"""Errors of the files of the SQLite log. An unreadable file is treated neither as empty nor as deleted."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.common.errors import LogMissing, LogUnavailable
from headwater.common.storage_faults import DAMAGED_IN_SQLITE, explain_storage_error

NO_HEADER = "it has no header"
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
FAULTS = (sqlite3.Error, OSError, ValueError, TypeError, MemoryError)
"""Exceptions that may occur while a damaged segment is read.

Its rows may have wrong types, or lengths that exceed the memory.
"""
_RESTORE = (
    "Stop Headwater and restore the file from a copy, or move it away. In the latter case, its records that are not in "
    "the lake are lost, and recorded as a gap."
)
_PUT_BACK = (
    "Headwater acknowledges nothing until the files are restored. If they are lost, stop Headwater and run "
    "`headwater log new-epoch`; `headwater audit` lists the lost records."
)


@contextmanager
def segment_errors(path: Path) -> Iterator[None]:
    """Convert errors of a segment to LogUnavailable."""
    try:
        yield
    except FAULTS as error:
        raise segment_error(path, error) from error


def segment_error(path: Path, error: Exception) -> LogUnavailable:
    """Explain why a segment cannot be used now, and what to do."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _LOCKED:
        return LogUnavailable(
            f"Another program, such as a backup or a database browser, has locked the log segment {path}. Close it. "
            "Headwater tries again until then."
        )
    if code in DAMAGED_IN_SQLITE and not isinstance(error, OSError):
        return damaged_error(path, str(error) or type(error).__name__)
    return LogUnavailable(f"Cannot use the log segment {path}: {explain_storage_error(error, 'data')}")


def damaged_error(path: Path, problem: str) -> LogUnavailable:
    """Return the error for a damaged segment.

    Headwater never skips the content of such a segment without an operator.
    """
    return LogUnavailable(f"The log segment {path} is damaged: {problem}. {_RESTORE}")


def misplaced_error(path: Path) -> LogUnavailable:
    """Return the error for a current segment that was deleted, moved or replaced."""
    return LogUnavailable(f"The log segment {path} was deleted, moved or replaced while it was written. {_PUT_BACK}")


def missing_log_error(folder: Path, sequence: int) -> LogMissing:
    """Return the error for a missing log that had acknowledged records up to `sequence`."""
    return LogMissing(
        f"The event log in {folder} is missing: it had acknowledged records up to sequence {sequence}. {_PUT_BACK}"
    )


def other_log_error(folder: Path, problem: str) -> LogUnavailable:
    """Return the error for a log that lacks acknowledged records, because another log has replaced it."""
    return LogUnavailable(f"The event log in {folder} was replaced by another log: {problem}. {_PUT_BACK}")


def is_missing_file(path: Path) -> bool:
    """Whether a file does not exist. Returns False if the file exists but is unreadable."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def check_not_truncated(path: Path) -> None:
    """Raise LogUnavailable if a segment is empty but its `-wal` file has records.

    SQLite would delete this `-wal` file.
    """
    side = Path(f"{path}-wal")
    if (
        side.is_file() and side.stat().st_size and path.is_file() and not path.stat().st_size
    ):  # the `-wal` file is younger
        raise damaged_error(path, "it is empty, but its `-wal` file has records")
