"""Keep the data folder private to one account: it contains raw bodies before redaction."""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from headwater.common.errors import WrongSetting
from headwater.operations.settings import Settings

OWN_NAMES = ("log", "log.acknowledged", "claims", "lake", "index", "run", "identity", "format")
"""What Headwater creates in a data folder."""
_USERS = ("rules", "sinks.yml")
"""Text that its user adds."""

_OTHER_ACCOUNTS = stat.S_IRWXG | stat.S_IRWXO

log = logging.getLogger(__name__)


def set_private_umask() -> None:
    """Deny other accounts access to files that this process and its children create from now on."""
    os.umask(_OTHER_ACCOUNTS)


def private_spark_options(settings: Settings) -> dict[str, str]:
    """Return the same setting for a Spark session, because Hadoop sets file modes regardless of the umask.

    A lake outside the data folder keeps Hadoop's modes, since its owner decides who may read it.
    """
    return {} if settings.lake else {"spark.hadoop.fs.permissions.umask-mode": "077"}


def restrict_access(folder: Path) -> None:
    """Remove all access of other accounts to a data folder; logs a warning if they had any.

    If the folder also contains other things, such as a home folder, only Headwater's parts are restricted.
    Raises OSError, or WrongSetting if this account may not do that or the file system does not store modes.
    """
    exposed = [path for path in _protected_paths(folder) if path.exists() and _is_open(path)]
    for path in exposed:
        _restrict(path, folder)
        for inside in _within(path) if path != folder else ():
            with suppress(PermissionError):  # owned by another account, and no longer reachable for others
                _remove_rights(inside)
    if exposed:
        names = ", ".join(map(str, exposed))
        log.warning(
            "Other accounts had access to %s; this access was removed. See docs/operations.md, Who can read.", names
        )


def _restrict(path: Path, folder: Path) -> None:
    with suppress(PermissionError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHER_ACCOUNTS)
    if _is_open(path):
        raise WrongSetting(
            f"Other accounts have access to {path}, which contains raw bodies, and this account cannot change that: it "
            "is not the owner, or the file system does not store modes. Change the owner to the account that runs "
            "Headwater, mount the file system with umask=077, or choose a new folder with --data, such as "
            f"{folder / 'headwater'}."
        )


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & _OTHER_ACCOUNTS)


def _protected_paths(folder: Path) -> list[Path]:
    parts = [folder / name for name in OWN_NAMES]
    other_names = {path.name for path in folder.iterdir()} - {*OWN_NAMES, *_USERS}
    return parts if other_names else [folder, *parts]


def _within(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *files))


def _remove_rights(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
        if mode & _OTHER_ACCOUNTS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~_OTHER_ACCOUNTS)
    except FileNotFoundError:
        pass  # a temporary file was deleted in the meantime
