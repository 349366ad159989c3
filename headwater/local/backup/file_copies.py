"""Files into the folder of a backup: whole, on disk, and each with its hash."""

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from headwater.errors import LakeUnavailable
from headwater.eventlog.segment_faults import using
from headwater.eventlog.segments import open_readonly

FileHashes = dict[str, dict[str, int | str]]
"""Path in the backup → `bytes` and `sha256`."""

_CHUNK = 1 << 20
_SIDE_FILES = ("-wal", "-shm", "-journal")


class Copies:
    """What was copied into a folder so far."""

    def __init__(self, folder: Path) -> None:
        """Copy nothing yet."""
        self.folder = folder
        self.files: FileHashes = {}

    def copy(self, source: Path, name: str) -> None:
        """Copy a file, or a database as of one moment while others write it; raises LakeUnavailable, LogUnavailable."""
        target = self.folder / name
        if source.name.endswith(_SIDE_FILES):
            return  # what is in them comes with their database
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if source.suffix == ".sqlite":
                _copy_database(source, target)
                self.files[name] = described(target)
            else:
                self.files[name] = copy_file(source, target)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise LakeUnavailable(f"Cannot copy {source} to {target}: {error}. Free space, or restore it.") from error

    def copy_once(self, source: Path, name: str) -> None:
        """Copy a file that is never changed, unless that was done."""
        if name not in self.files:
            self.copy(source, name)

    def keep_to_what_is_there(self) -> None:
        """Forget what was copied and taken away again."""
        self.files = {name: found for name, found in self.files.items() if (self.folder / name).exists()}


def copy_file(source: Path, target: Path) -> dict[str, int | str]:
    """Copy a file; it is on disk when this returns. Returns its length and hash."""
    with source.open("rb") as read, target.open("wb") as written:
        digest = hashlib.sha256()
        while chunk := read.read(_CHUNK):
            digest.update(chunk)
            written.write(chunk)
        written.flush()
        os.fsync(written.fileno())
        return {"bytes": written.tell(), "sha256": digest.hexdigest()}


def described(path: Path) -> dict[str, int | str]:
    """Return the length and the hash of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _copy_database(source: Path, target: Path) -> None:
    """Copy by SQLite's own backup, in one step: a writer beside it is neither stopped nor seen by halves.

    The copy needs no side files; whoever writes it next changes that.
    """
    if not source.exists():
        raise FileNotFoundError(source)
    target.unlink(missing_ok=True)
    with using(source), closing(open_readonly(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)
        written.execute("PRAGMA journal_mode=DELETE")
