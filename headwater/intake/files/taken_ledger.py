"""Records how far each file was ingested, so that no event is sent twice. Each receiver has a separate SQLite file."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headwater.common.errors import Retry, WrongSetting
from headwater.common.resources import close_on_error
from headwater.common.storage_faults import (
    DAMAGED_IN_SQLITE,
    explain_storage_error,
    is_transient,
    transient_faults_as_retry,
)
from headwater.intake.files.file_forms import FilePlace

FORMAT = 1


@dataclass(frozen=True, slots=True)
class FilePosition:
    """How far a file was ingested.

    store, identity, path: which file this is; see `FoundFile`. size, modified_us, version: as in the listing before the
    file was read.
    place: the position to which the file was read. tail, tail_bytes: digest and length of the bytes directly before the
    position. head: digest of the beginning of the file, empty if the file is short.
    ended: the file was read to its end, or to an incomplete event at its end. torn: the end is an incomplete event.
    refused: some events of the file are not in the lake. taken_us: when the receiver last acknowledged events of the
    file (us, clock of this machine).
    """

    store: str
    identity: str
    path: str
    size: int = -1
    modified_us: int = -1
    version: str = ""
    place: FilePlace = field(default_factory=FilePlace)
    tail: bytes = b""
    tail_bytes: int = 0
    head: bytes = b""
    ended: bool = False
    torn: bool = False
    refused: bool = False
    taken_us: int = 0


_CREATE = """
CREATE TABLE IF NOT EXISTS taken (
    store TEXT NOT NULL, identity TEXT NOT NULL, path TEXT NOT NULL,
    size INTEGER NOT NULL, modified_us INTEGER NOT NULL, version TEXT NOT NULL,
    form TEXT NOT NULL, position INTEGER NOT NULL, line INTEGER NOT NULL,
    tail BLOB NOT NULL, tail_bytes INTEGER NOT NULL, head BLOB NOT NULL,
    ended INTEGER NOT NULL, torn INTEGER NOT NULL, refused INTEGER NOT NULL, taken_us INTEGER NOT NULL,
    PRIMARY KEY (store, identity)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS taken_by_head ON taken (head) WHERE head != x'';
"""
_COLUMNS = "store, identity, path, size, modified_us, version, form, position, line, tail, tail_bytes, head, "
_COLUMNS += "ended, torn, refused, taken_us"


class IngestLedger:
    """The ledger of one receiver.

    Only one process can have it open; the system releases the lock when the process ends.
    """

    def __init__(self, path: Path) -> None:
        """Open the ledger, and create the file if it is missing.

        Raises WrongSetting if another process has the ledger open or the file is not a ledger, and Retry while the disk
        cannot be written.
        """
        self.path = path
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.chmod(0o600)  # SQLite creates further files with the permissions of this one
            with close_on_error(
                sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
            ) as file:
                self._file = file
                file.execute("PRAGMA locking_mode = EXCLUSIVE")
                file.execute("PRAGMA journal_mode = WAL")
                file.execute("PRAGMA synchronous = NORMAL")  # events whose positions a power cut loses are sent again
                file.execute("BEGIN EXCLUSIVE")
                self._check_format()
                file.execute("COMMIT")
        except (OSError, sqlite3.DatabaseError) as error:
            if "locked" in str(error):
                raise WrongSetting(
                    f"Another `headwater ingest` uses {path}. Give both paths in one command, or each its own --state."
                ) from error
            if is_transient(error):
                raise Retry(
                    f"Cannot store the ingest state in {path}: {explain_storage_error(error, 'state')}"
                ) from error
            raise WrongSetting(f"Cannot store the ingest state in {path}: {error}. Choose another --state.") from error

    def find(self, store: str, identity: str) -> FilePosition | None:
        """Return how far a file was ingested, or None if the ledger does not contain the file."""
        query = f"SELECT {_COLUMNS} FROM taken WHERE store = ? AND identity = ?"
        with self._disk_errors():
            return next(map(_from_row, self._file.execute(query, (store, identity))), None)

    def find_by_beginning(self, store: str, head: bytes) -> list[FilePosition]:
        """Return the positions of at most ten files with lines that have the same beginning.

        The caller uses them to recognize a renamed file. head: digest of the beginning.
        """
        where = "store = ? AND head = ? AND form = 'lines' AND head != x'' LIMIT 10"
        with self._disk_errors():
            return [*map(_from_row, self._file.execute(f"SELECT {_COLUMNS} FROM taken WHERE {where}", (store, head)))]

    def store_positions(self, positions: Iterable[FilePosition]) -> None:
        """Store positions of files in one transaction. Raises Retry if the disk cannot be written."""
        marks = ",".join("?" * _COLUMNS.count(",") + "?")
        with self._disk_errors(), self._file:
            self._file.execute("BEGIN")
            self._file.executemany(f"REPLACE INTO taken ({_COLUMNS}) VALUES ({marks})", map(_to_row, positions))

    def delete_position(self, taken: FilePosition) -> None:
        """Delete the position of a file that no longer exists."""
        with self._disk_errors():
            self._file.execute("DELETE FROM taken WHERE store = ? AND identity = ?", (taken.store, taken.identity))

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            with transient_faults_as_retry(f"store the ingest state in {self.path}"):
                yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED_IN_SQLITE:
                raise
            raise WrongSetting(
                f"The ingest state {self.path} is damaged: {error}. Delete it: files are then read from their "
                "beginning, and events that the lake contains already are recognized as duplicates."
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check_format(self) -> None:
        (found,) = self._file.execute("PRAGMA user_version").fetchone()
        if found not in (0, FORMAT):
            raise WrongSetting(f"A newer Headwater wrote {self.path}. Use that version, or another --state.")
        if found == FORMAT:
            return  # without writing anything
        for statement in filter(str.strip, _CREATE.split(";")):
            self._file.execute(statement)
        self._file.execute(f"PRAGMA user_version = {FORMAT}")


def ledger_path(state: Path, receiver: str) -> Path:
    """Return the path of a receiver's ledger.

    state: the folder of ledgers. The file name contains the host name of the receiver and a digest of its URL.
    """
    name = urlsplit(receiver).netloc.rpartition("@")[2].replace(":", "-") or "receiver"
    return state.expanduser() / f"{name}-{blake2b(receiver.rstrip('/').encode(), digest_size=4).hexdigest()}.sqlite"


def _to_row(taken: FilePosition) -> tuple[object, ...]:
    return (
        taken.store, taken.identity, taken.path, taken.size, taken.modified_us, taken.version, *taken.place,
        taken.tail, taken.tail_bytes, taken.head, taken.ended, taken.torn, taken.refused, taken.taken_us,
    )  # fmt: skip


def _from_row(row: Sequence[Any]) -> FilePosition:
    cells: list[Any] = [*row[:6], FilePlace(*row[6:9]), *row[9:12], *map(bool, row[12:15]), row[15]]
    return FilePosition(*cells)
