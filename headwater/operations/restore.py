"""`headwater restore`: verify every file of a backup, then copy it into an empty folder."""

import hashlib
import json
import os
import shutil
import time
from pathlib import Path, PurePosixPath
from typing import Any

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.common.failpoints import reach_failpoint
from headwater.intake.event_log.segments import sync_folder
from headwater.operations.backup import DATA, FORMAT, MANIFEST, UNFINISHED
from headwater.operations.lake_files import LakeFiles, copy_file, file_entry, open_lake_files
from headwater.operations.runtime.data_folder import MARKER, RESTORING, data_folder_path, folder_errors
from headwater.operations.runtime.sinks import open_ledger
from headwater.operations.runtime.storage import is_lake_remote, lake_folder
from headwater.operations.settings import Settings

_SHOWN = 10


def restore_backup(settings: Settings, source: Path) -> dict[str, Any]:
    """Restore a backup into the data folder, and its lake to the configured location; both must be empty.

    An interrupted restore can be repeated. Returns a summary. Raises WrongSetting.
    """
    source, folder = source.expanduser().resolve(), data_folder_path(settings)
    manifest = read_manifest(source)
    lake, is_inside = open_lake_files(settings), _is_inside(settings, folder)
    _check_empty(folder)
    _begin_lake(lake, hashlib.sha256((source / MANIFEST).read_bytes()).hexdigest(), is_inside=is_inside)
    with folder_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(folder / MARKER, f"{RESTORING}\n".encode(), durable=True)
    for path in {*folder.iterdir()} - {folder / MARKER}:  # remains of an interrupted restore
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in manifest["files"]:
        if name != f"{DATA}/{MARKER}":
            _restore_file(source, name, folder, lake)
            reach_failpoint("restore.after_file")
    open_ledger(settings).set_restored(time.time_ns() // 1000)  # alerts about earlier incidents may have been sent
    lake.delete([RESTORING])
    _release_folder({folder} if is_lake_remote(settings) else {folder, lake_folder(settings)}, folder, source)
    shown = ("log", "from", "to", "in the lake to")
    held = {name: manifest[name] for name in shown if name in manifest}
    return {"in": str(folder), "made": manifest["began"], **held, "files": len(manifest["files"])}


def read_manifest(source: Path) -> dict[str, Any]:
    """Return the manifest of a backup. Raises WrongSetting, with the affected files, if the backup is incomplete."""
    try:
        manifest: Any = json.loads((source / MANIFEST).read_text())
    except FileNotFoundError:
        is_begun = (source / UNFINISHED).exists()
        what = "contains an interrupted backup: run the backup again" if is_begun else "does not contain a backup"
        raise WrongSetting(f"{source} {what} (it has no {MANIFEST}).") from None
    except (OSError, ValueError, RecursionError) as error:
        raise WrongSetting(f"Cannot read {source / MANIFEST}: {error}. Use another backup.") from error
    if problem := _manifest_problem(manifest):
        raise WrongSetting(
            f"{source / MANIFEST} is not a valid manifest: {problem}. Nothing was restored. Copy the backup again from "
            "where it is stored, or use another backup."
        )
    if manifest["format"] > FORMAT:
        made_by = manifest.get("headwater")
        raise WrongSetting(f"{source} was made by Headwater {made_by}. Use that version or a newer one.")
    if strange := [name for name in manifest["files"] if not _is_valid_file_name(name)]:
        raise WrongSetting(
            f"{source / MANIFEST} contains the unexpected file name {strange[0][:99]!r}. Nothing was restored. "
            "Use another backup."
        )
    wrong = [
        f"{name} {fault}" for name, kept in manifest["files"].items() if (fault := _file_problem(source / name, kept))
    ]
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise WrongSetting(
            f"The backup {source} is damaged: {'; '.join(wrong[:_SHOWN])}{more}. Nothing was restored. Copy it again "
            "from where it is stored, or use another backup."
        )
    return manifest  # type: ignore[no-any-return] # its structure was validated


def _manifest_problem(manifest: Any) -> str | None:
    """Return a description of what is wrong with the structure of a manifest, None if it is valid."""
    if not isinstance(manifest, dict):
        return "it is not a JSON object"
    if type(manifest.get("format")) is not int:
        return "its `format` is not a whole number"
    if manifest["format"] > FORMAT:  # a newer format may have another structure
        return None
    if not isinstance(manifest.get("files"), dict):
        return "its `files` is not an object of files by name"
    if odd := [name for name, kept in manifest["files"].items() if not isinstance(kept, dict)]:
        return f"its entry of the file {odd[0][:99]!r} is not an object"
    return None if isinstance(manifest.get("began"), str) else "its `began` is not a time"


def _is_valid_file_name(name: str) -> bool:
    """Return whether a file name in a manifest leads to a place inside the data folder or the lake."""
    parts = PurePosixPath(name).parts
    return parts[:1] == (DATA,) and ".." not in parts and len(parts) > 1


def _file_problem(path: Path, entry: dict[str, Any]) -> str | None:
    try:
        return None if file_entry(path) == entry else "was changed"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _is_inside(settings: Settings, folder: Path) -> bool:
    return not is_lake_remote(settings) and lake_folder(settings).is_relative_to(folder)


def _check_empty(folder: Path) -> None:
    """Raise WrongSetting unless the data folder is empty, or contains an interrupted restore."""
    marker = folder / MARKER
    begun = marker.is_file() and marker.read_text().strip() == RESTORING
    if not begun and folder.is_dir() and any(folder.iterdir()):
        raise WrongSetting(f"{folder} is not empty. Restore into a new folder: move this one away, or use --data.")


def _begin_lake(lake: LakeFiles, backup: str, *, is_inside: bool) -> None:
    """Record in a lake outside the data folder which backup is being restored there.

    backup: hash of the backup's manifest. Raises WrongSetting if the lake contains anything except an interrupted
    restore of the same backup.
    """
    if is_inside:
        return
    names = lake.names("")
    if names and lake.read(RESTORING) != backup.encode():
        raise WrongSetting(f"{lake.address} is not empty. Move its content away, or set `lake` to a new location.")
    lake.write(RESTORING, backup.encode())
    lake.delete(name for name in names if name != RESTORING)


def _restore_file(source: Path, name: str, folder: Path, lake: LakeFiles) -> None:
    own = name.removeprefix(f"{DATA}/")
    try:
        if own.startswith("lake/"):
            lake.put(own.removeprefix("lake/"), source / name)
        else:
            (folder / own).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy_file(source / name, folder / own)
    except OSError as error:
        raise LakeUnavailable(f"Cannot restore {own}: {error}. Free disk space, then run the restore again.") from error


def _release_folder(places: set[Path], folder: Path, source: Path) -> None:
    """Make all restored files durable, and then allow `headwater up` to use the data folder."""
    for place in places:
        for inside, _, _ in os.walk(place):
            sync_folder(Path(inside))
    atomic_write(folder / MARKER, (source / DATA / MARKER).read_bytes(), durable=True)
