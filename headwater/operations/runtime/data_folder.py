"""The data folder of one machine: its format, its access rights, and the locks that assign roles to processes.

Only one account can read it, because it contains raw bodies before redaction.
"""

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import Retry, WrongSetting
from headwater.common.storage_faults import explain_storage_error, is_transient, transient_faults_as_retry
from headwater.operations.settings import Settings

FORMAT = 1
MARKER = "format"
"""Name of the file with the format version of the data folder."""
RESTORING = "restoring"
"""Content of the file MARKER while a restore is in progress."""

OWN_NAMES = ("log", "log.acknowledged", "claims", "lake", "index", "run", "identity", "format")
"""Files and folders that Headwater creates in a data folder."""

_USERS = ("rules", "sinks.yml")
"""Files and folders that the user adds to a data folder."""

_OTHER_ACCOUNTS = stat.S_IRWXG | stat.S_IRWXO
log = logging.getLogger(__name__)


def prepare_folder(settings: Settings) -> Path:
    """Create the data folder if it is missing, and remove the access of other accounts. Returns the folder.

    Raises WrongSetting if this version of Headwater cannot use the folder, Retry while its disk is full.
    """
    folder = data_folder_path(settings)
    try:
        for name in ("", "log", "index", "run"):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        marker = folder / MARKER
        if not marker.exists():
            atomic_write(marker, b"%d\n" % FORMAT)
        marker.read_bytes()
        check_writable(folder / "run")
    except OSError as error:
        if is_transient(error):
            raise Retry(f"Cannot use the data folder {folder}: {explain_storage_error(error, 'data')}") from error
        raise WrongSetting(
            f"Cannot use the data folder {folder}: {error.strerror}. Choose another with --data."
        ) from error
    check_format(folder)
    with transient_faults_as_retry(f"use the data folder {folder}"):
        restrict_access(folder)
    return folder


def check_format(folder: Path) -> None:
    """Raise WrongSetting if this version cannot use an existing data folder, or a restore into it is unfinished."""
    found = (folder / MARKER).read_text().strip()
    _check_restored(folder, found)
    if not found.isdigit() or int(found) > FORMAT:
        raise WrongSetting(
            f"The data folder {folder} has format {found[:20]}, but this Headwater supports only format {FORMAT}. "
            "Use the newer Headwater that created it, or another folder with --data."
        )


@contextmanager
def folder_errors(folder: Path) -> Iterator[None]:
    """Convert an OSError inside the block to WrongSetting, except transient errors such as a full disk."""
    try:
        yield
    except OSError as error:
        if is_transient(error):
            raise
        raise WrongSetting(f"Cannot use {folder}: {error.strerror}. Choose another folder.") from error


def check_writable(folder: Path) -> None:
    """Raise OSError if the folder is not writable, because of permissions or a read-only file system."""
    if not os.access(folder, os.W_OK):
        number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(number, os.strerror(number), str(folder))


def require_data_folder(settings: Settings) -> Path:
    """Return the data folder for a command that only reads. Raises WrongSetting if the folder does not exist.

    With a lake outside the data folder, a missing folder is created, because the index needs it.
    """
    if settings.lake:
        return prepare_folder(settings)
    marker = (folder := data_folder_path(settings)) / MARKER
    if not marker.exists():
        raise WrongSetting(f"{folder} has no Headwater data. Choose the folder with --data, or start `headwater up`.")
    _check_restored(folder, marker.read_text().strip())
    return folder


def _check_restored(folder: Path, found: str) -> None:
    if found == RESTORING:
        raise WrongSetting(f"A restore into {folder} was interrupted. Run `headwater restore` again.")


def data_folder_path(settings: Settings) -> Path:
    """Return the data folder, whether or not it exists."""
    return settings.data.expanduser().resolve()


@contextmanager
def folder_lock(folder: Path, name: str, *, wait_s: float) -> Iterator[None]:
    """Hold a lock that assigns one role on a data folder to this process.

    Raises WrongSetting if another process still holds the lock after `wait_s` seconds, Retry while the disk is full.
    """
    path = folder / "run" / f"{name}.lock"
    with ExitStack() as stack:
        with transient_faults_as_retry(f"use {folder}"):
            path.parent.mkdir(mode=0o700, exist_ok=True)  # a restore does not create `run`
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


def set_private_umask() -> None:
    """Deny other accounts access to files that this process and its children create from now on."""
    os.umask(_OTHER_ACCOUNTS)


def private_spark_options(settings: Settings) -> dict[str, str]:
    """Return Spark settings that deny other accounts access to new files. Hadoop ignores the umask of the process.

    For a lake outside the data folder, there are no such settings, because its owner decides who may read it.
    """
    return {} if settings.lake else {"spark.hadoop.fs.permissions.umask-mode": "077"}


def restrict_access(folder: Path) -> None:
    """Remove all access of other accounts to a data folder. Logs a warning if other accounts had access.

    If the folder also contains files of others, as a home folder does, only Headwater's own files are restricted.
    Raises OSError. Raises WrongSetting if this account may not change the modes, or the file system has no modes.
    """
    exposed = exposed_paths(folder)
    for path in exposed:
        _restrict_path(path, folder)
        for inside in _paths_below(path) if path != folder else ():
            with suppress(PermissionError):  # another account owns the file, but others can no longer reach it
                _remove_rights(inside)
    if exposed:
        names = ", ".join(map(str, exposed))
        log.warning(
            "Other accounts had access to %s; this access was removed. See "
            "docs/how-to/platform-operator/operations.md, Who can read.",
            names,
        )


def exposed_paths(folder: Path) -> list[Path]:
    """Return the files and folders of a data folder to which other accounts have access."""
    return [path for path in _protected_paths(folder) if path.exists() and _is_accessible_to_others(path)]


def _restrict_path(path: Path, folder: Path) -> None:
    with suppress(PermissionError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHER_ACCOUNTS)
    if _is_accessible_to_others(path):
        raise WrongSetting(
            f"Other accounts have access to {path}, which contains raw bodies, and this account cannot change that: it "
            "is not the owner, or the file system does not store modes. Change the owner to the account that runs "
            "Headwater, mount the file system with umask=077, or choose a new folder with --data, such as "
            f"{folder / 'headwater'}."
        )


def _is_accessible_to_others(path: Path) -> bool:
    return bool(path.stat().st_mode & _OTHER_ACCOUNTS)


def _protected_paths(folder: Path) -> list[Path]:
    parts = [folder / name for name in OWN_NAMES]
    other_names = {path.name for path in folder.iterdir()} - {*OWN_NAMES, *_USERS}
    return parts if other_names else [folder, *parts]


def _paths_below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *files))


def _remove_rights(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
        if mode & _OTHER_ACCOUNTS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~_OTHER_ACCOUNTS)
    except FileNotFoundError:
        pass  # a temporary file was deleted in the meantime
