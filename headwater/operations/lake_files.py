"""Access the files of a lake, in a folder or at an address, and copy files durably."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from headwater.common.atomic_files import atomic_write
from headwater.lake.object_store import ObjectStore
from headwater.operations.runtime.storage import is_lake_remote, lake_folder, lake_root_and_options
from headwater.operations.settings import Settings

_CHUNK_BYTES = 1 << 20


class LakeFiles(Protocol):
    """The files of a lake. A name is the path of a file relative to the lake, with slashes.

    address: folder or URL of the lake. options: storage options with which delta-rs opens the tables.
    Methods raise LakeUnavailable or OSError if the storage fails.
    """

    address: str
    options: Mapping[str, str]

    def names(self, folder: str) -> list[str]:
        """List the names of the files in a folder and its subfolders. folder: `""` for the whole lake."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if the file does not exist."""

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file in pieces. Raises FileNotFoundError if the file does not exist."""

    def put(self, name: str, path: Path) -> None:
        """Upload a local file, replacing an existing one."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically, replacing an existing one."""

    def delete(self, names: Iterable[str]) -> None:
        """Delete files; ignores missing ones."""


class FolderFiles:
    """The files of a local lake. Lists the remains of interrupted writes as well, which ObjectStore would omit."""

    def __init__(self, folder: Path):
        self.address, self._folder = str(folder), folder
        self.options: Mapping[str, str] = {}

    def names(self, folder: str) -> list[str]:
        """List the files in a folder and its subfolders, sorted by name."""
        return sorted(str(path.relative_to(self._folder)) for path in files_below(self._folder / folder))

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if the file does not exist."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a file in pieces."""
        return pieces_of(self._folder / name)

    def put(self, name: str, path: Path) -> None:
        """Copy a local file into the lake durably, replacing an existing file."""
        copy_file(path, self._path_of(name))

    def write(self, name: str, content: bytes) -> None:
        """Write a file that only its owner can read."""
        atomic_write(self._path_of(name), content, durable=True)

    def _path_of(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def delete(self, names: Iterable[str]) -> None:
        """Delete files, and folders that become empty."""
        for path in (self._folder / name for name in names):
            path.unlink(missing_ok=True)
            for folder in path.parents[: len(path.relative_to(self._folder).parts) - 1]:
                if next(folder.iterdir(), None) is not None:
                    break
                folder.rmdir()


class StoreFiles(ObjectStore):
    """Files of a remote lake."""

    def __init__(self, settings: Settings):
        """Open the configured lake. Raises WrongSetting if its address is invalid."""
        self.options: Mapping[str, str]
        address, self.options = lake_root_and_options(settings)
        super().__init__(address, self.options)

    def names(self, folder: str) -> list[str]:
        """List the files in a folder and its subfolders, sorted by name."""
        return [each.name for each in self.files(folder)]


def open_lake_files(settings: Settings) -> LakeFiles:
    """Return the files of the configured lake."""
    return StoreFiles(settings) if is_lake_remote(settings) else FolderFiles(lake_folder(settings))


def files_below(folder: Path, excluded: Path | None = None) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders. excluded: a subfolder to leave out.

    Follows symlinks to folders, but does not yield symlinks to files.
    """
    for place, folders, names in os.walk(folder, followlinks=True):
        if excluded is not None:
            folders[:] = [name for name in folders if Path(place, name) != excluded]
        yield from (path for path in (Path(place, name) for name in sorted(names)) if not path.is_symlink())


def copy_file(source: Path, target: Path) -> dict[str, int | str]:
    """Copy a file durably. Returns its size (`bytes`) and its hash (`sha256`)."""
    return write_file(pieces_of(source), target)


def pieces_of(source: Path) -> Iterator[bytes]:
    """Yield a file in pieces."""
    with source.open("rb") as read:
        while piece := read.read(_CHUNK_BYTES):
            yield piece


def write_file(pieces: Iterable[bytes], target: Path) -> dict[str, int | str]:
    """Write a file durably. Returns its size (`bytes`) and its hash (`sha256`)."""
    with target.open("wb") as written:
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
            written.write(piece)
        written.flush()
        os.fsync(written.fileno())
        return {"bytes": written.tell(), "sha256": digest.hexdigest()}


def file_entry(path: Path) -> dict[str, int | str]:
    """Return the size (`bytes`) and the hash (`sha256`) of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
