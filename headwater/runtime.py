"""Settings to real clients: the only place that knows where things lie."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.errors import WrongSetting
from headwater.eventlog.claims import FolderClaims
from headwater.eventlog.sqlite import Limits, SqliteLog
from headwater.eventlog.sqlite_reader import SqliteLogReader
from headwater.index.follow import IndexFollower
from headwater.index.home import IndexHome
from headwater.index.lens import Lenses
from headwater.index.rules_files import RulesFiles
from headwater.lake.bronze import Bronze
from headwater.settings import Settings

FORMAT = 1
OWNER = "parser/local"


def prepare_folder(settings: Settings) -> Path:
    """Create the data folder if it is missing; raises WrongSetting if it cannot be used by this version."""
    folder = settings.data.expanduser().resolve()
    try:
        for name in ("", "log", "claims", "lake", "index", "run"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        marker = folder / "format"
        if not marker.exists():
            marker.write_text(f"{FORMAT}\n")
        found = marker.read_text().strip()
        if not os.access(folder / "run", os.W_OK):
            raise PermissionError(13, "Permission denied", str(folder / "run"))
    except OSError as error:
        raise WrongSetting(
            f"Cannot use the data folder {folder}: {error.strerror}. Choose another with --data."
        ) from error
    if not found.isdigit() or int(found) > FORMAT:
        raise WrongSetting(
            f"The data folder {folder} has format {found[:20]}, this Headwater writes format {FORMAT}. "
            "Use the newer Headwater that made it, or another folder with --data."
        )
    return folder


def existing_folder(settings: Settings) -> Path:
    """Return the data folder for a command that only reads; raises WrongSetting if there is none."""
    folder = settings.data.expanduser().resolve()
    if not (folder / "format").exists():
        raise WrongSetting(f"No Headwater data in {folder}. Name the folder with --data, or start `headwater up`.")
    return folder


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


def open_log(settings: Settings, folder: Path, claims: FolderClaims) -> SqliteLog:
    """Open the log for writing; the caller holds the lock `serve`. Large bodies of no record go."""
    limits = Limits(settings.segment_bytes, settings.queued_bytes, settings.min_free_bytes)
    log = SqliteLog(folder / "log", limits, on_remove=claims.remove)
    reader = open_log_reader(folder)
    claims.keep_only(reader.claims())
    reader.close()
    return log


def open_claims(folder: Path) -> FolderClaims:
    """Open the folder of large bodies."""
    return FolderClaims(folder / "claims")


def open_log_reader(folder: Path) -> SqliteLogReader:
    """Open the log for reading."""
    return SqliteLogReader(folder / "log")


def open_index_home(folder: Path) -> IndexHome:
    """Open the folder of the index."""
    return IndexHome(folder / "index")


def open_lenses(settings: Settings, folder: Path) -> Lenses:
    """Open lineage for questions from the command line; the index is brought up to date unless a process does that."""
    rules = open_rules(settings)
    with contextlib.suppress(WrongSetting), folder_lock(folder, "index", wait_s=0):
        follower = IndexFollower(open_index_home(folder), open_bronze(folder))
        while follower.step(rules.current().names):
            pass
        follower.close()
    return Lenses(open_index_home(folder), rules)


def open_bronze(folder: Path) -> Bronze:
    """Open the bronze tables."""
    return Bronze(str(folder / "lake" / "bronze"))


def open_rules(settings: Settings) -> RulesFiles:
    """Open the folder of the user's rules; raises WrongSetting if a folder that was named is not there."""
    folder = (settings.rules or settings.data / "rules").expanduser().resolve()
    if settings.rules is not None and not folder.is_dir():
        raise WrongSetting(f"No folder {folder}, which the setting `rules` names. Create it or correct the setting.")
    return RulesFiles(folder)
