"""`headwater restore`: a backup back into an empty place, after every file of it was looked at."""

import hashlib
import json
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from headwater.errors import LakeUnavailable, WrongSetting
from headwater.eventlog.segments import sync_folder
from headwater.failpoints import reach
from headwater.local.backup.backing_up import DATA, FORMAT, MANIFEST, UNFINISHED
from headwater.local.backup.file_copies import copy_file, described
from headwater.local.lake_files import LakeFiles, open_lake_files
from headwater.runtime.folders import MARKER, RESTORING, data_folder, usable
from headwater.runtime.storage import is_lake_remote, lake_folder
from headwater.settings import Settings
from headwater.whole_files import write_whole

_SHOWN = 10


def restore(settings: Settings, source: Path) -> dict[str, Any]:
    """Bring a backup back into the data folder, and its lake to where the settings put it; both must be empty.

    One that was cut off is done again. Returns what it holds, for people. Raises WrongSetting.
    """
    source, folder = source.expanduser().resolve(), data_folder(settings)
    manifest = read_manifest(source)
    lake, is_inside = open_lake_files(settings), _is_inside(settings, folder)
    _check_empty(folder)
    _begin_lake(lake, hashlib.sha256((source / MANIFEST).read_bytes()).hexdigest(), is_inside=is_inside)
    with usable(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(folder / MARKER, f"{RESTORING}\n".encode(), durable=True)
    for path in {*folder.iterdir()} - {folder / MARKER}:  # of a restore that was cut off
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in manifest["files"]:
        if name != f"{DATA}/{MARKER}":
            _copy_back(source, name, folder, lake)
            reach("restore.after_file")
    lake.delete([RESTORING])
    _finish({folder} if is_lake_remote(settings) else {folder, lake_folder(settings)}, folder, source)
    shown = ("log", "from", "to", "in the lake to")
    held = {name: manifest[name] for name in shown if name in manifest}
    return {"in": str(folder), "made": manifest["began"], **held, "files": len(manifest["files"])}


def read_manifest(source: Path) -> dict[str, Any]:
    """Return the manifest of a whole backup; raises WrongSetting that names what is missing or was changed."""
    try:
        manifest: Any = json.loads((source / MANIFEST).read_text())
    except FileNotFoundError:
        is_begun = (source / UNFINISHED).exists()
        what = "holds a backup that was cut off: back up into it again" if is_begun else "holds no backup"
        raise WrongSetting(f"{source} {what} (it has no {MANIFEST}).") from None
    except (OSError, ValueError, RecursionError) as error:
        raise WrongSetting(f"Cannot read {source / MANIFEST}: {error}. Take another backup.") from error
    if said := _misshapen(manifest):
        raise WrongSetting(
            f"{source / MANIFEST} is no manifest of a backup: {said}. Nothing was restored. Copy the backup anew from "
            "where it was kept, or take another backup."
        )
    if manifest["format"] > FORMAT:
        raise WrongSetting(f"{source} was made by Headwater {manifest.get('headwater')}. Use that, or a newer one.")
    if strange := [name for name in manifest["files"] if not _is_ours(name)]:
        raise WrongSetting(f"{source / MANIFEST} names {strange[0][:99]!r}, which no backup does. Nothing restored.")
    wrong = [f"{name} {said}" for name, kept in manifest["files"].items() if (said := _fault(source / name, kept))]
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise WrongSetting(
            f"The backup {source} is not whole: {'; '.join(wrong[:_SHOWN])}{more}. Nothing was restored. Copy it anew "
            "from where it was kept, or take another backup."
        )
    return manifest  # type: ignore[no-any-return] # its form was looked at


def _misshapen(manifest: Any) -> str | None:
    """Return what a manifest lacks of its form, None if it has all that a restore reads."""
    if not isinstance(manifest, dict):
        return "it holds no JSON object"
    if type(manifest.get("format")) is not int:
        return "its `format` is not a whole number"
    if manifest["format"] > FORMAT:  # its form may be another one
        return None
    if not isinstance(manifest.get("files"), dict):
        return "its `files` is not an object of files by name"
    if odd := [name for name, kept in manifest["files"].items() if not isinstance(kept, dict)]:
        return f"its entry of the file {odd[0][:99]!r} is not an object"
    return None if isinstance(manifest.get("began"), str) else "its `began` is not a time"


def _is_ours(name: str) -> bool:
    """Tell whether a file of a manifest goes to below the data folder or the lake, and nowhere else."""
    parts = PurePosixPath(name).parts
    return parts[:1] == (DATA,) and ".." not in parts and len(parts) > 1


def _fault(path: Path, kept: dict[str, Any]) -> str | None:
    try:
        return None if described(path) == kept else "was changed"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _is_inside(settings: Settings, folder: Path) -> bool:
    return not is_lake_remote(settings) and lake_folder(settings).is_relative_to(folder)


def _check_empty(folder: Path) -> None:
    """Raise WrongSetting unless the data folder is empty, or holds what a restore that was cut off left."""
    marker = folder / MARKER
    begun = marker.is_file() and marker.read_text().strip() == RESTORING
    if not begun and folder.is_dir() and any(folder.iterdir()):
        raise WrongSetting(f"{folder} is not empty. Restore into a new folder: move this one away, or use --data.")


def _begin_lake(lake: LakeFiles, backup: str, *, is_inside: bool) -> None:
    """Note in a lake elsewhere of which backup it is made, which has to be alone there.

    Raises WrongSetting where it holds anything but what a restore of this backup, which was cut off, left. backup: the
    digest of its manifest.
    """
    if is_inside:
        return
    names = lake.names("")
    if names and lake.read(RESTORING) != backup.encode():
        raise WrongSetting(f"{lake.address} is not empty. Move away what is there, or let `lake` name a new place.")
    lake.write(RESTORING, backup.encode())
    lake.delete(name for name in names if name != RESTORING)


def _copy_back(source: Path, name: str, folder: Path, lake: LakeFiles) -> None:
    own = name.removeprefix(f"{DATA}/")
    try:
        if own.startswith("lake/"):
            lake.put(own.removeprefix("lake/"), source / name)
        else:
            (folder / own).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy_file(source / name, folder / own)
    except OSError as error:
        raise LakeUnavailable(f"Cannot restore {own}: {error}. Free space, then restore again.") from error


def _finish(places: set[Path], folder: Path, source: Path) -> None:
    """Let `headwater up` take the folder, once all else is on disk."""
    for place in places:
        for inside, _, _ in os.walk(place):
            sync_folder(Path(inside))
    write_whole(folder / MARKER, (source / DATA / MARKER).read_bytes(), durable=True)
