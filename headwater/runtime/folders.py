"""The data folder of one machine, and who holds which role on it."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from headwater.errors import Retry, WrongSetting
from headwater.runtime.private import close_to_others
from headwater.settings import Settings
from headwater.storage_faults import explain, on_disk, passes
from headwater.whole_files import write_whole

FORMAT = 1
MARKER = "format"
"""The file that says which version of the data folder this is."""
RESTORING = "restoring"
"""What it says while a backup is brought back."""


def prepare_folder(settings: Settings) -> Path:
    """Create the data folder if it is missing, and close it to other accounts.

    Raises WrongSetting if it cannot be used by this version, Retry while its disk takes nothing.
    """
    folder = data_folder(settings)
    try:
        for name in ("", "log", "index", "run"):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        marker = folder / MARKER
        if not marker.exists():
            write_whole(marker, b"%d\n" % FORMAT)
        found = marker.read_text().strip()
        _check_writable(folder / "run")
    except OSError as error:
        if passes(error):
            raise Retry(f"Cannot use the data folder {folder}: {explain(error, 'data')}") from error
        raise WrongSetting(
            f"Cannot use the data folder {folder}: {error.strerror}. Choose another with --data."
        ) from error
    _check_restored(folder, found)
    if not found.isdigit() or int(found) > FORMAT:
        raise WrongSetting(
            f"The data folder {folder} has format {found[:20]}, this Headwater writes format {FORMAT}. "
            "Use the newer Headwater that made it, or another folder with --data."
        )
    with on_disk(f"use the data folder {folder}"):
        close_to_others(folder)
    return folder


@contextmanager
def usable(folder: Path) -> Iterator[None]:
    """Raise WrongSetting where a folder that was named cannot be used for another reason than a disk that is full."""
    try:
        yield
    except OSError as error:
        if passes(error):
            raise
        raise WrongSetting(f"Cannot use {folder}: {error.strerror}. Name another folder.") from error


def _check_writable(folder: Path) -> None:
    """Raise OSError where nothing may be written: because of rights, or because the disk was mounted so."""
    if not os.access(folder, os.W_OK):
        number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(number, os.strerror(number), str(folder))


def existing_folder(settings: Settings) -> Path:
    """Return the data folder for a command that only reads; raises WrongSetting if there is none.

    Where `lake` names another place, the folder need not be there before: it is made, for the index.
    """
    if settings.lake:
        return prepare_folder(settings)
    marker = (folder := data_folder(settings)) / MARKER
    if not marker.exists():
        raise WrongSetting(f"No Headwater data in {folder}. Name the folder with --data, or start `headwater up`.")
    _check_restored(folder, marker.read_text().strip())
    return folder


def _check_restored(folder: Path, found: str) -> None:
    if found == RESTORING:
        raise WrongSetting(f"A backup was not brought back to its end into {folder}. Run `headwater restore` again.")


def data_folder(settings: Settings) -> Path:
    """Return the data folder, there or not."""
    return settings.data.expanduser().resolve()


@contextmanager
def folder_lock(folder: Path, name: str, *, wait_s: float) -> Iterator[None]:
    """Hold one role on a data folder.

    Raises WrongSetting if another process holds it after `wait_s` seconds, Retry while its disk takes nothing.
    """
    path = folder / "run" / f"{name}.lock"
    with ExitStack() as stack:
        with on_disk(f"use {folder}"):
            path.parent.mkdir(mode=0o700, exist_ok=True)  # a folder that was just restored has none
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
