"""The data folder of one machine, and who holds which role on it."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.errors import WrongSetting
from headwater.runtime.private import close_to_others
from headwater.settings import Settings

FORMAT = 1
MARKER = "format"
"""The file that says which version of the data folder this is."""
RESTORING = "restoring"
"""What it says while a backup is brought back."""


def prepare_folder(settings: Settings) -> Path:
    """Create the data folder if it is missing, and close it to other accounts.

    Raises WrongSetting if it cannot be used by this version.
    """
    folder = data_folder(settings)
    try:
        for name in ("", "log", "index", "run"):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        marker = folder / MARKER
        if not marker.exists():
            marker.touch(mode=0o600)
            marker.write_text(f"{FORMAT}\n")
        found = marker.read_text().strip()
        if not os.access(folder / "run", os.W_OK):
            raise PermissionError(13, "Permission denied", str(folder / "run"))
    except OSError as error:
        raise WrongSetting(
            f"Cannot use the data folder {folder}: {error.strerror}. Choose another with --data."
        ) from error
    _check_restored(folder, found)
    if not found.isdigit() or int(found) > FORMAT:
        raise WrongSetting(
            f"The data folder {folder} has format {found[:20]}, this Headwater writes format {FORMAT}. "
            "Use the newer Headwater that made it, or another folder with --data."
        )
    close_to_others(folder)
    return folder


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
    """Hold one role on a data folder; raises WrongSetting if another process holds it after `wait_s` seconds."""
    path = folder / "run" / f"{name}.lock"
    with path.open("a+") as file:
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
