"""`headwater backup`: copy derived data before its source and the log last, so no acknowledged event is missing.

Every event acknowledged before the backup started is in the copy of the lake or, after its watermark, in the later copy
of the log. If the log was copied first, it could end before the lake's watermark, and the two would not match.
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

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.common.failpoints import reach
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.segments import sync_folder
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.parser.log_match import check_log_is_of_lake
from headwater.operations.backup.file_copies import BackupFiles
from headwater.operations.backup.table_copies import copy_lake
from headwater.operations.local.lake_files import open_lake_files
from headwater.operations.runtime.folders import existing_folder, folder_errors, folder_lock
from headwater.operations.runtime.storage import claims_folder, is_lake_remote, lake_folder, open_bronze
from headwater.operations.settings import Settings

FORMAT = 1
DATA = "data"
MANIFEST = "manifest.json"
UNFINISHED = "unfinished"
_DERIVED = ("index", "run")
_LAST = ("lake", "log", "claims")
"""Copied in this order after everything else in the folder: the ledger of ingested files, rules, sinks."""
_TRIES = 5


def back_up(settings: Settings, target: Path) -> dict[str, Any]:
    """Copy log, lake and everything that cannot be derived into a new folder; Headwater may be running.

    An interrupted backup can be repeated into the same folder. Returns a summary.
    Raises WrongSetting if the folder is in use or contains other files, Retry if storage fails.
    """
    folder, target = existing_folder(settings), target.expanduser().resolve()
    for own in (folder, *([] if is_lake_remote(settings) else [lake_folder(settings)])):
        if target.is_relative_to(own):
            raise WrongSetting(f"{target} is inside {own}, which is being copied. Choose a folder elsewhere.")
    with folder_lock(folder, "backup", wait_s=0):
        with folder_errors(target):
            _begin(target)
        copies, began = BackupFiles(target), datetime.now(UTC).isoformat(timespec="seconds")
        tables, held = _copied(settings, folder, copies)
        manifest = {
            "format": FORMAT, "headwater": version("headwater"), "began": began, **held,
            "tables": tables, "files": copies.files,
        }  # fmt: skip
        _finish(target, manifest)
    return {
        "in": str(target), **held, "tables": len(tables), "files": len(copies.files),
        "bytes": sum(int(each["bytes"]) for each in copies.files.values()), "not in it": ", ".join(_excluded(settings)),
    }  # fmt: skip


def _begin(target: Path) -> None:
    found = {path.name for path in target.iterdir()} if target.is_dir() else set()
    if found and UNFINISHED not in found:
        raise WrongSetting(f"{target} is not empty. Choose a new folder for the backup.")
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    (target / UNFINISHED).touch()
    for left in (target / DATA, target / MANIFEST):
        shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    (target / DATA).mkdir(mode=0o700)


def _copied(settings: Settings, folder: Path, copies: BackupFiles) -> tuple[dict[str, int], dict[str, Any]]:
    """Copy until log and lake match: retention may delete records after the older copy of the lake was made."""
    lost: set[bytes] = set()
    for left in reversed(range(_TRIES)):
        shutil.rmtree(copies.folder / DATA / "log", ignore_errors=True)
        try:
            for path in _other_files(folder):
                copies.copy(path, f"{DATA}/{path.relative_to(folder)}")
            tables = copy_lake(open_lake_files(settings), copies, f"{DATA}/lake")
            reach("backup.after_lake")
            _copy_all(folder / "log", copies, f"{DATA}/log")
            _copy_all(claims_folder(settings), copies, f"{DATA}/claims")
        except FileNotFoundError:
            continue
        copies.drop_missing()
        held, missing = _copied_positions(settings, copies.folder / DATA)
        if held and (missing <= lost or not left):  # missing before as well, so they cannot be copied
            return tables, {**held, "large bodies that are gone": len(missing)} if missing else held
        lost = missing
    raise LakeUnavailable(
        "The log's retention deletes records faster than they are copied. Raise `retain_hours` and "
        "`retain_bytes`, or stop Headwater during the backup."
    )


def _other_files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name not in (*_DERIVED, *_LAST):
            yield from (path for path in sorted(entry.rglob("*")) or [entry] if path.is_file())


def _copy_all(folder: Path, copies: BackupFiles, into: str) -> None:
    """Copy a folder's files, oldest segments first; skips files that retention deletes meanwhile."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            copies.copy(path, f"{into}/{path.name}")
        except FileNotFoundError:
            continue


def _copied_positions(settings: Settings, copy: Path) -> tuple[dict[str, Any] | None, set[bytes]]:
    """Return how far the copies of log and lake are, None if there is a gap between them, and the missing claims.

    Raises WrongSetting if the log does not belong to the lake.
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
    atomic_write(target / MANIFEST, json.dumps(manifest, indent=1).encode(), durable=True)
    (target / UNFINISHED).unlink()
    sync_folder(target)


def _excluded(settings: Settings) -> list[str]:
    places = [settings.rules and f"rules ({settings.rules})", settings.sinks and f"sinks ({settings.sinks})"]
    places += [settings.keys_file and f"keys ({settings.keys_file})"]
    claims = settings.claims_url and "claims (in their container)"
    log = settings.log != "sqlite" and f"log ({settings.log})"
    return ["index", "headwater.toml and its keys", *(str(each) for each in (*places, claims, log) if each)]
