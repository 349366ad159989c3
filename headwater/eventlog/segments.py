"""The files of the SQLite log: `DIR/{first sequence}.sqlite`, each with its own header, oldest first."""

import os
import secrets
import sqlite3
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import LogUnavailable, WrongSetting
from headwater.eventlog.segment_faults import NO_HEADER, check_not_cut, damaged, using
from headwater.opening import or_closed
from headwater.storage_faults import explain

FORMAT = 2
PACKED_SINCE = 2  # the format of segments whose events are packed
PAGE_BYTES = 8192  # three packed events of 15 KB; a commit writes whole pages, however small its records
PARTITION = "0"
"""The name of the only partition."""
BUSY_S = 1.0
"""How long to wait for a lock of another program: so short that a request still hears why it was refused."""

_SCHEMA = """
CREATE TABLE header(format INTEGER, incarnation TEXT, first_sequence INTEGER) STRICT;
CREATE TABLE records(
  sequence INTEGER PRIMARY KEY, received_us INTEGER NOT NULL, kind INTEGER NOT NULL,
  http TEXT NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX not_plain ON records(kind, sequence) WHERE kind > 0;
"""


@dataclass(frozen=True, slots=True)
class Header:
    """A segment's first row: which log it belongs to and where it begins."""

    epoch: str
    first_sequence: int


def segment_files(folder: Path) -> list[Path]:
    """List the segments, oldest first, none if there is no folder; raises LogUnavailable if it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".sqlite" and path.stem.isdigit())
    except FileNotFoundError:
        return []
    except OSError as error:  # `glob` would take a folder that may not be read for an empty one
        raise LogUnavailable(f"Cannot read the log folder {folder}: {explain(error, 'data')}") from error


def segment_path(folder: Path, header: Header) -> Path:
    """Return where the segment of this header lies."""
    return folder / f"{header.first_sequence:020d}.sqlite"


def identity(path: str) -> tuple[int, int] | None:
    """Return what tells the file at a path from another that takes its place, None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - two at each commit, on strings
    except OSError:
        return None
    return found.st_dev, found.st_ino


def new_epoch() -> str:
    """Mint the name of a log's epoch: sequence numbers of two epochs never mean the same record."""
    return secrets.token_hex(8)


def open_writable(path: Path) -> sqlite3.Connection:
    """Open a segment for the one process that writes; a commit returns after fdatasync."""
    check_not_cut(path)
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=16
    )
    with or_closed(connection):
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=0")  # the writer checkpoints between two groups, never inside one
    return connection


def open_readonly(path: Path, *, wait_s: float = BUSY_S) -> sqlite3.Connection:
    """Open a segment beside the writer; never checkpoints (SQLite before 3.51.3: two checkpointers may lose pages).

    wait_s: how long to wait for a lock of another program.
    """
    check_not_cut(path)
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=wait_s, check_same_thread=False
    )
    with or_closed(connection):
        connection.execute("PRAGMA query_only=1")
        connection.execute("PRAGMA cache_size=-256")  # KiB: reading goes forward once; 2 MB a segment would add up
    return connection


def create_segment(folder: Path, header: Header) -> sqlite3.Connection:
    """Create the segment that starts at `header.first_sequence`; it exists on disk when this returns."""
    with or_closed(open_writable(segment_path(folder, header))) as connection:
        connection.executescript("BEGIN;" + _SCHEMA)
        row = (FORMAT, header.epoch, header.first_sequence)
        connection.execute("INSERT INTO header VALUES (?,?,?)", row)
        connection.execute("COMMIT")
        sync_folder(folder)
    return connection


def read_header(connection: sqlite3.Connection) -> Header | None:
    """Read a segment's header, None if its creation was cut off. Raises WrongSetting for a newer format."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'header'").fetchone():
        return None
    row = connection.execute("SELECT format, incarnation, first_sequence FROM header").fetchone()
    if row[0] > FORMAT:
        raise WrongSetting(
            f"The event log has format {row[0]}, this Headwater reads up to {FORMAT}. Use the newer Headwater."
        )
    return Header(*row[1:])


def format_of(connection: sqlite3.Connection) -> int:
    """Return the format of a segment that has a header."""
    form: int = connection.execute("SELECT format FROM header").fetchone()[0]
    return form


def last_sequence(connection: sqlite3.Connection, header: Header) -> int:
    """Return the newest sequence of a segment, or the one before its first."""
    newest: int | None = connection.execute("SELECT max(sequence) FROM records").fetchone()[0]
    return header.first_sequence - 1 if newest is None else newest


def ends(connection: sqlite3.Connection) -> tuple[int, int] | None:
    """Return the first and the newest sequence of a segment, None if it holds no record."""
    first, last = connection.execute(
        "SELECT (SELECT min(sequence) FROM records), (SELECT max(sequence) FROM records)"
    ).fetchone()
    return None if first is None else (first, last)


def harm_of(connection: sqlite3.Connection) -> str:
    """Say what is wrong with the pages of a segment, in one line; empty where they are as they were written."""
    found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    return "" if found == "ok" else " ".join(found.split())


def events_behind(connection: sqlite3.Connection, after: int) -> int:
    """Count the events of a segment behind `after`: by its ends, for looking at each would read the whole file."""
    if not (held := ends(connection)):
        return 0
    first, last = max(held[0], after + 1), held[1]
    query = "SELECT count(*) FROM records WHERE kind > 0 AND kind = 2 AND sequence BETWEEN ? AND ?"
    notes: int = connection.execute(query, (first, last)).fetchone()[0]
    return max(0, last - first + 1 - notes)


def first_event_us(connection: sqlite3.Connection, sequence: int) -> int | None:
    """Return when the first event of a segment from `sequence` on was received (us), None if there is none."""
    query = "SELECT received_us FROM records WHERE sequence >= ? AND kind <> 2 ORDER BY sequence LIMIT 1"
    row = connection.execute(query, (sequence,)).fetchone()
    return row[0] if row else None


def claim_keys(connection: sqlite3.Connection) -> list[bytes]:
    """List the keys of the large bodies that a segment's records stand for."""
    return [key for (key,) in connection.execute("SELECT body FROM records WHERE kind > 0 AND kind = 1")]


def rename(folder: Path, fresh: str) -> None:
    """Give the log another epoch; nobody may have it open. Sequence numbers keep their values.

    Raises LogUnavailable if a segment cannot be written; then all keep the epoch they had.
    """
    with ExitStack() as stack:
        opened: list[sqlite3.Connection] = []
        for path in segment_files(folder):
            with using(path):
                connection = open_writable(path)
                stack.callback(connection.close)
                if not read_header(connection):
                    raise damaged(path, NO_HEADER)
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("UPDATE header SET incarnation = ?", (fresh,))
                opened.append(connection)
        for connection in opened:
            connection.execute("COMMIT")


def parts(path: Path) -> list[str]:
    """Return the paths of a segment and of its side files."""
    return [f"{path}{suffix}" for suffix in ("", "-wal", "-shm")]


def remove_segment(path: Path) -> None:
    """Delete a segment and its side files."""
    for part in parts(path):
        Path(part).unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make created and deleted names in a folder durable."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise LogUnavailable(f"Cannot open the log folder {folder}: {explain(error, 'data')}") from error
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
