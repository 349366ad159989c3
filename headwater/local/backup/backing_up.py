"""`headwater backup`: what follows is copied before what it follows, the log last: nothing acknowledged is missing.

Whatever was acknowledged before it began is in the lake's copy or, behind its watermark, in the log's, which is made
later. A log copied first could end before the lake's watermark, and such a pair belongs to no one log.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headwater.errors import LakeUnavailable, WrongSetting
from headwater.eventlog.folder_claims import FolderClaims
from headwater.eventlog.segments import sync_folder
from headwater.eventlog.sqlite_reader import SqliteLogReader
from headwater.failpoints import reach
from headwater.local.backup.file_copies import Copies
from headwater.local.backup.table_copies import copy_lake
from headwater.local.lake_files import open_lake_files
from headwater.parser.log_match import check_log_is_of_lake
from headwater.runtime.folders import existing_folder, folder_lock, usable
from headwater.runtime.storage import claims_folder, is_lake_remote, lake_folder, open_bronze
from headwater.settings import Settings
from headwater.whole_files import write_whole

FORMAT = 1
DATA = "data"
MANIFEST = "manifest.json"
UNFINISHED = "unfinished"
_DERIVED = ("index", "run")
_LAST = ("lake", "log", "claims")
"""In this order; everything else of the folder before them: what was taken of files, rules, sinks."""
_TRIES = 5


def back_up(settings: Settings, target: Path) -> dict[str, Any]:
    """Copy log, lake and all that is not derived into a new folder; Headwater may run meanwhile.

    One that was cut off is done again into the same folder. Returns what it holds, for people.
    Raises WrongSetting for a folder that is in use or holds something else, Retry for storage that fails.
    """
    folder, target = existing_folder(settings), target.expanduser().resolve()
    for own in (folder, *([] if is_lake_remote(settings) else [lake_folder(settings)])):
        if target.is_relative_to(own):
            raise WrongSetting(f"{target} lies in {own}, which is to be copied. Name a folder elsewhere.")
    with folder_lock(folder, "backup", wait_s=0):
        with usable(target):
            _begin(target)
        copies, began = Copies(target), datetime.now(UTC).isoformat(timespec="seconds")
        tables, held = _copied(settings, folder, copies)
        manifest = {
            "format": FORMAT, "headwater": version("headwater"), "began": began, **held,
            "tables": tables, "files": copies.files,
        }  # fmt: skip
        _finish(target, manifest)
    return {
        "in": str(target), **held, "tables": len(tables), "files": len(copies.files),
        "bytes": sum(int(each["bytes"]) for each in copies.files.values()), "not in it": ", ".join(_left_out(settings)),
    }  # fmt: skip


def _begin(target: Path) -> None:
    found = {path.name for path in target.iterdir()} if target.is_dir() else set()
    if found and UNFINISHED not in found:
        raise WrongSetting(f"{target} is not empty. Name a new folder for the backup.")
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    (target / UNFINISHED).touch()
    for left in (target / DATA, target / MANIFEST):
        shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    (target / DATA).mkdir(mode=0o700)


def _copied(settings: Settings, folder: Path, copies: Copies) -> tuple[dict[str, int], dict[str, Any]]:
    """Copy until log and lake fit: retention may take what the lake's copy, which is older, has not passed."""
    lost: set[bytes] = set()
    for left in reversed(range(_TRIES)):
        shutil.rmtree(copies.folder / DATA / "log", ignore_errors=True)
        try:
            for path in _others(folder):
                copies.copy(path, f"{DATA}/{path.relative_to(folder)}")
            tables = copy_lake(open_lake_files(settings), copies, f"{DATA}/lake")
            reach("backup.after_lake")
            _copy_all(folder / "log", copies, f"{DATA}/log")
            _copy_all(claims_folder(settings), copies, f"{DATA}/claims")
        except FileNotFoundError:
            continue
        copies.keep_to_what_is_there()
        held, missing = _held(settings, copies.folder / DATA)
        if held and (missing <= lost or not left):  # gone before, too: nobody can copy them
            return tables, {**held, "large bodies that are gone": len(missing)} if missing else held
        lost = missing
    raise LakeUnavailable(
        "The log's retention takes what the lake has just passed, faster than it is copied. Raise `retain_hours` and "
        "`retain_bytes`, or stop Headwater while it is backed up."
    )


def _others(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name not in (*_DERIVED, *_LAST):
            yield from (path for path in sorted(entry.rglob("*")) or [entry] if path.is_file())


def _copy_all(folder: Path, copies: Copies, into: str) -> None:
    """Copy a folder's files, oldest segments first; what retention took is not missed here (see `_held`)."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            copies.copy(path, f"{into}/{path.name}")
        except FileNotFoundError:
            continue


def _held(settings: Settings, copy: Path) -> tuple[dict[str, Any] | None, set[bytes]]:
    """Return how far the copies of log and lake are, None if there is a gap between them, and which claims are missing.

    Raises WrongSetting if the two do not belong together.
    """
    of_copy = settings.model_copy(update={"data": copy, "lake": None})
    if settings.log != "sqlite":
        return {"log": settings.log}, set()
    bronze = open_bronze(of_copy)
    with closing(SqliteLogReader(copy / "log")) as reader:
        check_log_is_of_lake([reader], bronze)
        if not reader.is_begun():
            return {"log": settings.log}, set()
        head, passed = reader.head(), bronze.watermark(reader.source)
        held = {"log": reader.source.epoch, "from": head, "to": reader.tail(), "in the lake to": passed}
        missing = set() if settings.claims_url else set(reader.claims()) - FolderClaims(copy / "claims").keys()
    return (held if head <= passed + 1 else None), missing


def _finish(target: Path, manifest: dict[str, Any]) -> None:
    for place, _, _ in os.walk(target):
        sync_folder(Path(place))
    write_whole(target / MANIFEST, json.dumps(manifest, indent=1).encode(), durable=True)
    (target / UNFINISHED).unlink()
    sync_folder(target)


def _left_out(settings: Settings) -> list[str]:
    places = [settings.rules and f"rules ({settings.rules})", settings.sinks and f"sinks ({settings.sinks})"]
    places += [settings.keys_file and f"keys ({settings.keys_file})"]
    claims = settings.claims_url and "claims (in their container)"
    log = settings.log != "sqlite" and f"log ({settings.log})"
    return ["index", "headwater.toml and its keys", *(str(each) for each in (*places, claims, log) if each)]
