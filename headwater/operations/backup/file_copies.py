"""Copy files into the folder of a backup, durably, and record their hashes."""

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from headwater.common.errors import LakeUnavailable
from headwater.intake.event_log.segment_faults import using
from headwater.intake.event_log.segments import open_readonly

FileHashes = dict[str, dict[str, int | str]]
"""Path in the backup to `bytes` and `sha256`."""

_CHUNK = 1 << 20
_SIDE_FILES = ("-wal", "-shm", "-journal")


class BackupFiles:
    """The files copied into a backup so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: FileHashes = {}

    def copy(self, source: Path, name: str) -> None:
        """Copy a file, or a consistent snapshot of a database in use; raises LakeUnavailable or LogUnavailable."""
        if source.name.endswith(_SIDE_FILES):
            return  # their content is part of the copied database
        with self._target(name, str(source)) as target:
            if source.suffix == ".sqlite":
                _copy_database(source, target)
                self.files[name] = file_entry(target)
            else:
                self.files[name] = copy_file(source, target)

    def write(self, pieces: Iterable[bytes], name: str, source: str) -> None:
        """Write a file from pieces; source: where they come from, for error messages."""
        with self._target(name, source) as target:
            self.files[name] = write_file(pieces, target)

    @contextmanager
    def _target(self, name: str, source: str) -> Iterator[Path]:
        target = self.folder / name
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield target
        except FileNotFoundError:
            raise
        except OSError as error:
            raise LakeUnavailable(
                f"Cannot copy {source} to {target}: {error}. Check permissions and free disk space."
            ) from error

    def drop_missing(self) -> None:
        """Remove files from the record that no longer exist."""
        self.files = {name: found for name, found in self.files.items() if (self.folder / name).exists()}


def copy_file(source: Path, target: Path) -> dict[str, int | str]:
    """Copy a file durably; returns its length and hash."""
    return write_file(pieces_of(source), target)


def pieces_of(source: Path) -> Iterator[bytes]:
    """Yield a file in pieces."""
    with source.open("rb") as read:
        while piece := read.read(_CHUNK):
            yield piece


def write_file(pieces: Iterable[bytes], target: Path) -> dict[str, int | str]:
    """Write a file durably; returns its length and hash."""
    with target.open("wb") as written:
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
            written.write(piece)
        written.flush()
        os.fsync(written.fileno())
        return {"bytes": written.tell(), "sha256": digest.hexdigest()}


def file_entry(path: Path) -> dict[str, int | str]:
    """Return the length and the hash of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _copy_database(source: Path, target: Path) -> None:
    """Copy with SQLite's backup in one step: a concurrent writer is not blocked, and its partial changes are not seen.

    The copy has no side files.
    """
    if not source.exists():
        raise FileNotFoundError(source)
    target.unlink(missing_ok=True)
    with using(source), closing(open_readonly(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)
        written.execute("PRAGMA journal_mode=DELETE")
