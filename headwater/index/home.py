"""The folder of the index: a file for each version of the rules, and a pointer to the file that questions read."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from headwater.common.errors import HeadwaterError, IndexUnreadable, LakeUnavailable, NotBuilt
from headwater.index.stored.database import FORMAT, delete_index_files
from headwater.index.stored.integrity import DamageCheck, is_transient
from headwater.lineage.names.canonical_names import NameRules

T = TypeVar("T")


class PublishedFile(NamedTuple):
    """The file that questions read, and when it was published (ns). A rebuilt file may have the same path."""

    path: Path
    at_ns: int


class IndexHome:
    """The folder of the index. One process writes it, and any number of processes read it."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._pointer = folder / "current"
        self._damaged = folder / "damaged"
        self._check = DamageCheck()

    def index_path(self, rules: NameRules) -> Path:
        """Return the path of the index file for these name rules and the current code of the rules."""
        return self._folder / f"{FORMAT}-{rules.rules_hash[:16]}.sqlite"

    def attempts_path(self, partition: str) -> Path:
        """Return the file that counts the unfinished attempts at a batch of a partition."""
        return self._folder / f"attempts-{partition}.json"

    def erasures_record_path(self, path: Path) -> Path:
        """Return the file with the hash of the erasures that were done in the lake before an index was started.

        path: the index file.
        """
        return path.with_suffix(".begun")

    def unpublished_path(self) -> Path | None:
        """Return the index file that was written last, or None if there is no index file.

        While no file is published, this is the file that is being built.
        """
        found = []
        for file in self._folder.glob("*.sqlite*"):
            with suppress(FileNotFoundError):  # the writer deletes files meanwhile
                if file.suffix != ".sqlite-shm":
                    found.append((file.stat().st_mtime_ns, file))
        newest = max(found, default=None)
        return newest[1].with_suffix(".sqlite") if newest else None

    def size_bytes(self) -> int:
        """Return the size of all files in the folder (bytes), including a temporary copy for a snapshot."""
        size = 0
        for file in self._folder.glob("*"):
            with suppress(FileNotFoundError):  # the writer deletes files meanwhile
                size += file.stat().st_size
        return size

    def publish(self, path: Path) -> None:
        """Switch questions to this file and delete the other index files. Open connections still read deleted files."""
        fresh = self._pointer.with_suffix(".new")
        fresh.write_text(path.name + "\n")
        fresh.replace(self._pointer)
        for other in self._folder.glob("*.sqlite"):
            if other != path:
                delete_index_files(other)

    def is_published_file(self, path: Path) -> bool:
        """Return whether questions already read this file."""
        with suppress(NotBuilt):
            return self.published_file().path == path
        return False

    def published_file(self) -> PublishedFile:
        """Return the file that questions read. Raises NotBuilt if there is none yet."""
        try:
            with self._pointer.open() as pointer:  # one handle, so that name and time match
                return PublishedFile(self._folder / pointer.read().strip(), os.fstat(pointer.fileno()).st_mtime_ns)
        except (OSError, UnicodeDecodeError) as error:  # the index's writer creates the pointer again
            raise NotBuilt from error

    def has_published_file(self) -> bool:
        """Return whether there is a file that questions read."""
        return self._pointer.exists()

    def open_published(self, open_file: Callable[[Path], T]) -> tuple[PublishedFile, T]:
        """Open the file that questions read. If the file is replaced meanwhile, open the new one.

        Returns the file and the result of `open_file`. Raises LakeUnavailable (NotBuilt without a file).
        """
        while True:
            found = self.published_file()
            try:
                with self.index_errors(found):
                    return found, open_file(found.path)
            except LakeUnavailable:
                if self.published_file() == found:
                    raise

    @contextmanager
    def index_errors(self, file: PublishedFile) -> Iterator[None]:
        """Wrap reads of an index file: faults of the file raise IndexUnreadable, and damage is reported to the writer.

        If the file was replaced meanwhile, an error is not reported as damage, because the next read uses the new file.
        A programming error, such as a wrong SQL statement, is raised unchanged, because the same question would fail
        again.
        """
        try:
            yield
        except (HeadwaterError, OSError):
            raise
        except Exception as error:
            damaged = self.is_damaged(error, file.path)
            is_there = self._is_still_published(file)
            if not damaged and is_there and not is_transient(error):
                raise
            if damaged and is_there:
                self._report_damage(file.path)
            raise IndexUnreadable(f"The index cannot be read ({error}). Ask again in a moment.") from error

    def is_damaged(self, error: BaseException, path: Path) -> bool:
        """Return whether an error is caused by damage of a file. If the error is ambiguous, the file is checked."""
        return self._check.is_damaged(error, path)

    def _is_still_published(self, file: PublishedFile) -> bool:
        with suppress(NotBuilt):
            return self.published_file() == file
        return False

    def unpublish(self, path: Path) -> None:
        """Prevent questions from reading this file until it is published again, because it is rebuilt from scratch."""
        if self.is_published_file(path):
            self._pointer.unlink()

    def _report_damage(self, path: Path) -> None:
        """Ask the index's writer to delete a damaged file. Any process may call this."""
        with suppress(OSError):  # without the folder, there is no index to repair
            self._damaged.write_text(path.name)

    def reported_damaged_path(self) -> Path | None:
        """Return the index file that was reported as damaged, or None if no report names an existing file."""
        try:
            name = self._damaged.read_bytes().strip()
        except FileNotFoundError:
            return None
        return next((file for file in self._folder.glob("*.sqlite") if file.name.encode() == name), None)

    def delete_index(self, path: Path) -> None:
        """Delete an index file, which can be rebuilt from bronze. Only the writer may call this."""
        self.unpublish(path)
        delete_index_files(path)
        self._damaged.unlink(missing_ok=True)
