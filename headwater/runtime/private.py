"""The data folder belongs to one account: raw bodies lie in it, which hold what redaction would take out."""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from headwater.errors import WrongSetting
from headwater.settings import Settings

OURS = ("log", "log.acknowledged", "claims", "lake", "index", "run", "identity", "format")
"""What Headwater makes in a data folder."""
_USERS = ("rules", "sinks.yml")
"""What its user puts into it."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

log = logging.getLogger(__name__)


def keep_private() -> None:
    """Let nobody else read or write what this process, and the ones it starts, make from now on."""
    os.umask(_OTHERS)


def private_spark(settings: Settings) -> dict[str, str]:
    """Return the setting that does the same for a Spark session: Hadoop sets modes itself, whatever the umask is.

    A lake that was put elsewhere keeps Hadoop's modes: who reads it there is not our business.
    """
    return {} if settings.lake else {"spark.hadoop.fs.permissions.umask-mode": "077"}


def close_to_others(folder: Path) -> None:
    """Take all rights on a data folder from other accounts, with a warning if they had some.

    Of a folder that holds other things than ours, too, such as somebody's home, only our part is closed.
    Raises WrongSetting where this account may not do that, or its file system keeps no modes; OSError.
    """
    opened = [path for path in _doors(folder) if path.exists() and _is_open(path)]
    for path in opened:
        _close_door(path, folder)
        for inside in _within(path) if path != folder else ():
            with suppress(PermissionError):  # of another account, which has brought it behind the door
                _take_rights(inside)
    if opened:
        names = ", ".join(map(str, opened))
        log.warning(
            "Other accounts had rights on %s; now nobody else has. See docs/operations.md, Who can read.", names
        )


def _close_door(path: Path, folder: Path) -> None:
    with suppress(PermissionError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)
    if _is_open(path):
        raise WrongSetting(
            f"Other accounts have rights on {path}, where raw bodies lie, and this account cannot take them: it "
            "belongs to another, or its file system keeps no modes. Let it belong to the account that runs Headwater, "
            f"mount it with umask=077, or name a folder that is made then with --data, such as {folder / 'headwater'}."
        )


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & _OTHERS)


def _doors(folder: Path) -> list[Path]:
    parts = [folder / name for name in OURS]
    strangers = {path.name for path in folder.iterdir()} - {*OURS, *_USERS}
    return parts if strangers else [folder, *parts]


def _within(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *files))


def _take_rights(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
        if mode & _OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
    except FileNotFoundError:
        pass  # it was a file of a moment
