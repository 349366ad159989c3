"""Deletes a local file only if it is unchanged since it was checked, even while others write to it."""

import fcntl
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from headwater.common.failpoints import reach


def delete_unchanged(path: Path, is_unchanged: Callable[[os.stat_result], bool]) -> bool:
    """Delete a file unless it has changed or a process has it open for writing. Return whether it was deleted.

    The file is renamed first: a process that opens the old name from then on creates another file, and this one is
    checked once more when no process can open it any more. A file that is not deleted gets its name back; it stays
    `NUMBER.deleting` if another file has the name or if the deletion was killed. Raises OSError.
    """
    reach("deletion.looked")
    try:
        going = path.rename(path.with_name(f"{path.stat().st_ino}.deleting"))
    except FileNotFoundError:
        return False
    reach("deletion.renamed")
    with going.open("rb") as file:
        if not _is_being_written(file) and is_unchanged(os.fstat(file.fileno())):
            going.unlink()
            return True
    _put_back(going, path)
    return False


def _is_being_written(file: BinaryIO) -> bool:
    """Return whether a process has a file open for writing, if the system knows: it then grants no read lease."""
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


def _put_back(going: Path, path: Path) -> None:
    try:
        path.hardlink_to(going)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            going.rename(path)
        return
    going.unlink()
