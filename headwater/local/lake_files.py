"""The files of a lake for who erases, copies or brings back: all there are, in a folder or at an address."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from headwater.lake.object_store import ObjectStore
from headwater.local.backup.file_copies import copy_file, pieces_of
from headwater.runtime.storage import is_lake_remote, lake_folder, lake_place
from headwater.settings import Settings
from headwater.whole_files import write_whole


class LakeFiles(Protocol):
    """Files by their names below the lake, with slashes. What fails raises LakeUnavailable or OSError.

    options: storage options with which delta-rs opens its tables.
    """

    address: str
    options: Mapping[str, str]

    def names(self, folder: str) -> list[str]:
        """List the files below a folder, however deep; "" for all."""

    def read(self, name: str) -> bytes | None:
        """Return a file, None where it has gone."""

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a file in pieces; raises FileNotFoundError where it has gone."""

    def put(self, name: str, path: Path) -> None:
        """Write a file of this machine's disk, in place of one that is there."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole, in place of one that is there."""

    def delete(self, names: Iterable[str]) -> None:
        """Delete files, also such as have gone meanwhile."""


class FolderFiles:
    """On this machine, by the disk: a store's own listing passes over what an unfinished write left."""

    def __init__(self, folder: Path):
        """Read nothing yet."""
        self.address, self._folder = str(folder), folder
        self.options: Mapping[str, str] = {}

    def names(self, folder: str) -> list[str]:
        """List the files below a folder, in the order of their names."""
        return sorted(str(path.relative_to(self._folder)) for path in files_below(self._folder / folder))

    def read(self, name: str) -> bytes | None:
        """Return a file, None where there is none."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a file in pieces."""
        return pieces_of(self._folder / name)

    def put(self, name: str, path: Path) -> None:
        """Write a file, which is on disk when this returns."""
        copy_file(path, self._placed(name))

    def write(self, name: str, content: bytes) -> None:
        """Write a file that its owner alone reads."""
        write_whole(self._placed(name), content, durable=True)

    def _placed(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def delete(self, names: Iterable[str]) -> None:
        """Delete files, and the folders that are empty then."""
        for path in (self._folder / name for name in names):
            path.unlink(missing_ok=True)
            for folder in path.parents[: len(path.relative_to(self._folder).parts) - 1]:
                if next(folder.iterdir(), None) is not None:
                    break
                folder.rmdir()


class StoreFiles(ObjectStore):
    """At an address."""

    def __init__(self, settings: Settings):
        """Ask for nothing yet; raises WrongSetting where the address is none."""
        self.options: Mapping[str, str]
        address, self.options = lake_place(settings)
        super().__init__(address, self.options)

    def names(self, folder: str) -> list[str]:
        """List the files below a folder, in the order of their names."""
        return [each.name for each in self.files(folder)]


def open_lake_files(settings: Settings) -> LakeFiles:
    """Open the files of the lake that is set."""
    return StoreFiles(settings) if is_lake_remote(settings) else FolderFiles(lake_folder(settings))


def files_below(folder: Path, besides: Path | None = None) -> Iterator[Path]:
    """Yield the files below a folder, but for those below another one; a log may lie on another disk."""
    for place, folders, names in os.walk(folder, followlinks=True):
        if besides is not None:
            folders[:] = [name for name in folders if Path(place, name) != besides]
        yield from (path for path in (Path(place, name) for name in sorted(names)) if not path.is_symlink())
