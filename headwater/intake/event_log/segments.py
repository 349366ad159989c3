"""The files of the SQLite log: `DIR/{first sequence}.sqlite`, each with a header."""

import os
import secrets
import sqlite3
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.common.resources import close_on_error
from headwater.common.storage_faults import explain_storage_error
from headwater.intake.event_log.segment_faults import NO_HEADER, check_not_truncated, damaged_error, segment_errors

FORMAT = 2
PACKED_SINCE = 2  # the format of segments whose events are packed
PAGE_BYTES = 8192  # three packed events of 15 KB; a commit writes whole pages, however small its records
PARTITION = "0"
"""The name of the only partition of a local log."""
BUSY_S = 1.0
"""Seconds to wait for a lock of another program. This is short enough that a request still gets an explanation."""

_SCHEMA = """
CREATE TABLE header(format INTEGER, incarnation TEXT, first_sequence INTEGER) STRICT;
CREATE TABLE records(
  sequence INTEGER PRIMARY KEY, received_us INTEGER NOT NULL, kind INTEGER NOT NULL,
  http TEXT NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX not_plain ON records(kind, sequence) WHERE kind > 0;
"""


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """The header of a segment: the epoch of the log, and the first sequence of the segment."""

    epoch: str
    first_sequence: int


def segment_files(folder: Path) -> list[Path]:
    """List the segments, oldest first. The list is empty if the folder does not exist.

    Raises LogUnavailable if it is unreadable.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".sqlite" and path.stem.isdigit())
    except FileNotFoundError:
        return []
    except OSError as error:  # `glob` would treat an unreadable folder as empty
        raise LogUnavailable(f"Cannot read the log folder {folder}: {explain_storage_error(error, 'data')}") from error


def segment_path(folder: Path, header: SegmentHeader) -> Path:
    """Return the path of the segment with this header."""
    return folder / f"{header.first_sequence:020d}.sqlite"


def device_and_inode(path: str) -> tuple[int, int] | None:
    """Return (device, inode) of the file at a path, which change if the file is replaced.

    Returns None if there is no file.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - two at each commit, on strings
    except OSError:
        return None
    return found.st_dev, found.st_ino


def new_epoch() -> str:
    """Generate a name for a new epoch. Two epochs have different records with equal sequence numbers."""
    return secrets.token_hex(8)


def open_writable(path: Path) -> sqlite3.Connection:
    """Open a segment for writing. Only one process may write. A commit on the connection returns after fdatasync."""
    check_not_truncated(path)
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=16
    )
    with close_on_error(connection):
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=0")  # the writer checkpoints between groups
    return connection


def open_readonly(path: Path, *, wait_s: float = BUSY_S) -> sqlite3.Connection:
    """Open a segment for reading while another process writes.

    Never checkpoints: in SQLite before 3.51.3, two checkpointing processes may lose pages.
    wait_s: seconds to wait for a lock of another program.
    """
    check_not_truncated(path)
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=wait_s, check_same_thread=False
    )
    with close_on_error(connection):
        connection.execute("PRAGMA query_only=1")
        connection.execute(
            "PRAGMA cache_size=-256"
        )  # KiB; reads are sequential, and the default of 2 MB per segment adds up
    return connection


def create_segment(folder: Path, header: SegmentHeader) -> sqlite3.Connection:
    """Create a segment with this header durably, and return an open connection to it."""
    with close_on_error(open_writable(segment_path(folder, header))) as connection:
        connection.executescript("BEGIN;" + _SCHEMA)
        row = (FORMAT, header.epoch, header.first_sequence)
        connection.execute("INSERT INTO header VALUES (?,?,?)", row)
        connection.execute("COMMIT")
        sync_folder(folder)
    return connection


def read_header(connection: sqlite3.Connection) -> SegmentHeader | None:
    """Read the header of a segment; None if the creation of the segment was interrupted.

    Raises WrongSetting if a newer version wrote the segment.
    """
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'header'").fetchone():
        return None
    row = connection.execute("SELECT format, incarnation, first_sequence FROM header").fetchone()
    if row[0] > FORMAT:
        raise WrongSetting(
            f"The event log has format {row[0]}; this version of Headwater reads up to {FORMAT}. Use the newer version."
        )
    return SegmentHeader(*row[1:])


def format_of(connection: sqlite3.Connection) -> int:
    """Return the format of a segment that has a header."""
    form: int = connection.execute("SELECT format FROM header").fetchone()[0]
    return form


def last_sequence(connection: sqlite3.Connection, header: SegmentHeader) -> int:
    """Return the newest sequence of a segment. If the segment is empty, return its first sequence minus one."""
    newest: int | None = connection.execute("SELECT max(sequence) FROM records").fetchone()[0]
    return header.first_sequence - 1 if newest is None else newest


def first_and_last_sequence(connection: sqlite3.Connection) -> tuple[int, int] | None:
    """Return (first sequence, newest sequence) of a segment; None if the segment is empty."""
    first, last = connection.execute(
        "SELECT (SELECT min(sequence) FROM records), (SELECT max(sequence) FROM records)"
    ).fetchone()
    return None if first is None else (first, last)


def find_page_damage(connection: sqlite3.Connection) -> str:
    """Check the pages of a segment. Returns the problem in one line, or an empty text if there is none."""
    found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    return "" if found == "ok" else " ".join(found.split())


def count_events_after(connection: sqlite3.Connection, after: int) -> int:
    """Count the events of a segment after sequence `after`.

    The number is computed from the first and last sequence and the number of notes, so the file is not read completely.
    """
    if not (held := first_and_last_sequence(connection)):
        return 0
    first, last = max(held[0], after + 1), held[1]
    query = "SELECT count(*) FROM records WHERE kind > 0 AND kind = 2 AND sequence BETWEEN ? AND ?"
    notes: int = connection.execute(query, (first, last)).fetchone()[0]
    return max(0, last - first + 1 - notes)


def first_received_us(connection: sqlite3.Connection, from_sequence: int) -> int | None:
    """Return when the first event of a segment from this sequence on was received (us); None if there is none."""
    query = "SELECT received_us FROM records WHERE sequence >= ? AND kind <> 2 ORDER BY sequence LIMIT 1"
    row = connection.execute(query, (from_sequence,)).fetchone()
    return row[0] if row else None


def claim_keys(connection: sqlite3.Connection) -> list[bytes]:
    """List the keys of claims to which the records of a segment refer."""
    return [key for (key,) in connection.execute("SELECT body FROM records WHERE kind > 0 AND kind = 1")]


def change_epoch(folder: Path, new_epoch_name: str) -> None:
    """Change the epoch of all segments. Sequence numbers stay. No other process may have the log open.

    Raises LogUnavailable if a segment cannot be written; then all segments keep the old epoch.
    """
    with ExitStack() as stack:
        opened: list[sqlite3.Connection] = []
        for path in segment_files(folder):
            with segment_errors(path):
                connection = open_writable(path)
                stack.callback(connection.close)
                if not read_header(connection):
                    raise damaged_error(path, NO_HEADER)
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("UPDATE header SET incarnation = ?", (new_epoch_name,))
                opened.append(connection)
        for connection in opened:
            connection.execute("COMMIT")


def segment_file_paths(path: Path) -> list[str]:
    """Return the paths of a segment and its `-wal` and `-shm` files."""
    return [f"{path}{suffix}" for suffix in ("", "-wal", "-shm")]


def remove_segment(path: Path) -> None:
    """Delete a segment and its `-wal` and `-shm` files."""
    for part in segment_file_paths(path):
        Path(part).unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that created and deleted files are durable."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise LogUnavailable(f"Cannot open the log folder {folder}: {explain_storage_error(error, 'data')}") from error
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
