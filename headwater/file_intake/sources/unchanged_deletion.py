"""Deletes a file of this machine only as it was when it was looked at, whatever writers do in the same moment."""

import fcntl
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from headwater.failpoints import reach


def delete_unchanged(path: Path, is_unchanged: Callable[[os.stat_result], bool]) -> bool:
    """Delete a file unless it has changed or somebody has it open to write; tells whether it did.

    It is renamed first: whoever opens it by its name from then on makes another one, and it is looked at once more when
    nobody can come to it. One that stays has its name again, or `NUMBER.deleting` where another one has taken that; so
    has one whose deletion was killed. Raises OSError where it may not be deleted.
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
    """Tell whether somebody has a file open to write, where the system knows: then it gives nobody a lease to read."""
    if sys.platform != "linux":
        return False
    try:
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # of who breaks it: the usual signal would end this process
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
    except OSError:  # a place without links
        if not path.exists():
            going.rename(path)
        return
    going.unlink()
