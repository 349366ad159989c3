"""The data folder of one machine, and the locks that assign roles on it to processes."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import Retry, WrongSetting
from headwater.common.storage_faults import explain, is_transient, transient_faults_as_retry
from headwater.operations.runtime.private import restrict_access
from headwater.operations.settings import Settings

FORMAT = 1
MARKER = "format"
"""Name of the file with the version of the data folder."""
RESTORING = "restoring"
"""Its content while a restore is in progress."""


def prepare_folder(settings: Settings) -> Path:
    """Create the data folder if it is missing, and remove the access of other accounts.

    Raises WrongSetting if this version cannot use it, Retry while its disk is full.
    """
    folder = data_folder(settings)
    try:
        for name in ("", "log", "index", "run"):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        marker = folder / MARKER
        if not marker.exists():
            atomic_write(marker, b"%d\n" % FORMAT)
        found = marker.read_text().strip()
        _check_writable(folder / "run")
    except OSError as error:
        if is_transient(error):
            raise Retry(f"Cannot use the data folder {folder}: {explain(error, 'data')}") from error
        raise WrongSetting(
            f"Cannot use the data folder {folder}: {error.strerror}. Choose another with --data."
        ) from error
    _check_restored(folder, found)
    if not found.isdigit() or int(found) > FORMAT:
        raise WrongSetting(
            f"The data folder {folder} has format {found[:20]}, but this Headwater supports only format {FORMAT}. "
            "Use the newer Headwater that created it, or another folder with --data."
        )
    with transient_faults_as_retry(f"use the data folder {folder}"):
        restrict_access(folder)
    return folder


@contextmanager
def folder_errors(folder: Path) -> Iterator[None]:
    """Raise WrongSetting if the folder cannot be used for a reason other than a full disk."""
    try:
        yield
    except OSError as error:
        if is_transient(error):
            raise
        raise WrongSetting(f"Cannot use {folder}: {error.strerror}. Choose another folder.") from error


def _check_writable(folder: Path) -> None:
    """Raise OSError if the folder is not writable, because of permissions or a read-only file system."""
    if not os.access(folder, os.W_OK):
        number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(number, os.strerror(number), str(folder))


def existing_folder(settings: Settings) -> Path:
    """Return the data folder for a command that only reads; raises WrongSetting if there is none.

    If `lake` is set to another location, the folder is created if needed, for the index.
    """
    if settings.lake:
        return prepare_folder(settings)
    marker = (folder := data_folder(settings)) / MARKER
    if not marker.exists():
        raise WrongSetting(f"{folder} has no Headwater data. Choose the folder with --data, or start `headwater up`.")
    _check_restored(folder, marker.read_text().strip())
    return folder


def _check_restored(folder: Path, found: str) -> None:
    if found == RESTORING:
        raise WrongSetting(f"A restore into {folder} was interrupted. Run `headwater restore` again.")


def data_folder(settings: Settings) -> Path:
    """Return the data folder, whether or not it exists."""
    return settings.data.expanduser().resolve()


@contextmanager
def folder_lock(folder: Path, name: str, *, wait_s: float) -> Iterator[None]:
    """Hold a lock that assigns one role on a data folder to this process.

    Raises WrongSetting if another process still holds it after `wait_s` seconds, Retry while its disk is full.
    """
    path = folder / "run" / f"{name}.lock"
    with ExitStack() as stack:
        with transient_faults_as_retry(f"use {folder}"):
            path.parent.mkdir(mode=0o700, exist_ok=True)  # missing after a restore
            file = stack.enter_context(path.open("a+"))
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise WrongSetting(
                        f"Another `headwater` uses {folder} ({name}). Stop it, or choose another folder with --data."
                    ) from None
                time.sleep(0.05)
        yield
