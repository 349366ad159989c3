"""Files on a disk of this machine, or mounted on it.

A file is deleted only if it has not changed since it was checked, even while other processes write to the folder.
"""

import errno
import fcntl
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from headwater.common.errors import WrongSetting
from headwater.common.failpoints import reach_failpoint
from headwater.intake.files.sources.file_source import (
    FileGone,
    FoundFile,
    is_folder_of_earlier_day,
    is_ignored_name,
)


def delete_unchanged(path: Path, is_unchanged: Callable[[os.stat_result], bool]) -> bool:
    """Delete a file unless it has changed or a process has it open for writing. Return whether it was deleted.

    The file is renamed first, so that a process that opens the old name afterwards creates another file. Then the
    renamed file is checked again and deleted. If it has changed, it gets its name back. It keeps the name
    `NUMBER.deleting` if another file has the old name by then, or if the process is killed.
    is_unchanged: receives the status of the renamed file. Raises OSError if the file system refuses an operation.
    """
    reach_failpoint("deletion.looked")
    try:
        going = path.rename(path.with_name(f"{path.stat().st_ino}.deleting"))
    except FileNotFoundError:
        return False
    reach_failpoint("deletion.renamed")
    with going.open("rb") as file:
        if not _is_being_written(file) and is_unchanged(os.fstat(file.fileno())):
            going.unlink()
            return True
    _restore_file(going, path)
    return False


def _is_being_written(file: BinaryIO) -> bool:
    """Return whether a process has a file open for writing.

    Linux grants no read lease for such a file. On other systems, and on mounts without leases, the function returns
    False.
    """
    if sys.platform != "linux":
        return False
    try:
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # when the lease is broken: the default would end this process
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False  # of another user, or on a mount without leases
    return False


def _restore_file(going: Path, path: Path) -> None:
    try:
        path.hardlink_to(going)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            going.rename(path)
        return
    going.unlink()


class LocalFiles:
    """One file, or the files of a folder at any depth.

    Links to files are followed if the target is in the folder. Links to folders are not followed. The path itself may
    be a link.
    """

    store = "file"
    poll_interval_s = 0.5  # by listing, because the system sends no notifications for mounted files

    def __init__(self, root: Path) -> None:
        """Store the path. Raises WrongSetting if there is no file or folder."""
        self._root = root.expanduser().absolute()
        if not (self._root.is_file() or self._root.is_dir()):
            raise WrongSetting(f"There is no file or folder {root}. Give one with events, or an address abfss://….")

    def files(self, since_us: int) -> Iterator[FoundFile]:
        """List the files that were modified at or after a time (us), in the order of the file system."""
        if self._root.is_dir():
            listed = _walk_files(self._root, since_us)
        else:
            listed = (each for each in (self.find(str(self._root)),) if each)
        return (found for found in listed if found.modified_us >= since_us)

    def find(self, path: str) -> FoundFile | None:
        """Return the file at a path; None if there is no file."""
        try:
            status = Path(path).stat()
        except OSError:
            return None
        return _to_found_file(path, status) if stat.S_ISREG(status.st_mode) else None

    def open(self, found: FoundFile) -> BinaryIO:
        """Open a file that was listed before.

        Raises FileGone if another file has the path now, and OSError if the file is outside the folder. The path of the
        opened file is checked, so links that were created after the listing are found.
        """
        try:  # without waiting for a writer, in case it has become a pipe
            descriptor = os.open(found.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError as error:
            raise FileGone(found.path) from error
        file = os.fdopen(descriptor, "rb")
        try:
            if _file_identity(os.fstat(descriptor)) != found.identity:
                raise FileGone(found.path)
            if self._root.is_dir() and not _is_below(
                _opened_path(descriptor, found.path), os.path.realpath(self._root)
            ):
                raise OSError(
                    errno.ELOOP,
                    "it is a link to a file outside the folder, which is not followed. Give its target as a PATH",
                )
        except BaseException:
            file.close()
            raise
        return file

    def delete(self, found: FoundFile) -> bool:
        """Delete a file unless it has grown, was replaced, or is being written."""
        if self.find(found.path) != found:
            return False
        try:
            return delete_unchanged(
                Path(found.path), lambda status: _to_found_file(found.path, status)[2:] == found[2:]
            )  # without its identity, which some mounts change in a rename
        except OSError as error:
            raise WrongSetting(
                f"{found.path} was ingested but cannot be deleted: {error.strerror}. Omit --keep, or allow deletion."
            ) from error


def _opened_path(descriptor: int, path: str) -> str:
    """Return the real path of an opened file. Raises FileGone if another file has the path now.

    path: the path with which the file was opened.
    """
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - names as they are
    except OSError:  # a system without /proc
        real = os.path.realpath(path)
        if not os.path.samestat(os.stat(real), os.fstat(descriptor)):  # noqa: PTH116 - names as they are
            raise FileGone(path) from None
        return real


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def _walk_files(root: Path, since_us: int) -> Iterator[FoundFile]:
    """Yield the files of each folder before the files of its subfolders.

    Uses a stack and no recursion, because folders may be nested a thousand levels deep.
    """
    waiting = [str(root)]
    while waiting:
        folder = waiting.pop()
        folders: list[str] = []
        yield from _files_in_folder(folder, folders, since_us)
        waiting += [os.path.join(folder, name) for name in sorted(folders, reverse=True)]  # noqa: PTH118 - names as they are


def _files_in_folder(folder: str, folders: list[str], since_us: int) -> Iterator[FoundFile]:
    """Yield the files of a folder, and add the names of its subfolders to `folders`."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_ignored_name(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if not is_folder_of_earlier_day(entry.name, since_us):
                        folders.append(entry.name)
                elif found := _file_of_entry(entry):
                    yield found
    except FileNotFoundError:
        return  # it was deleted while its siblings were listed
    except OSError:
        yield FoundFile(folder, "", 0, since_us)


def _file_of_entry(entry: "os.DirEntry[str]") -> FoundFile | None:
    try:
        return _to_found_file(entry.path, entry.stat()) if entry.is_file() else None
    except OSError:
        return None  # deleted, or a dangling link


def _to_found_file(path: str, status: os.stat_result) -> FoundFile:
    return FoundFile(path, _file_identity(status), status.st_size, status.st_mtime_ns // 1000)


def _file_identity(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"
