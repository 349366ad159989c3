"""`headwater restore`: a backup back into an empty place, after every file of it was looked at."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from headwater.errors import LakeUnavailable, WrongSetting
from headwater.eventlog.segments import sync_folder
from headwater.failpoints import reach
from headwater.local.backup.backing_up import DATA, FORMAT, MANIFEST, UNFINISHED
from headwater.local.backup.file_copies import copy_file, described
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
    if is_lake_remote(settings):
        raise WrongSetting("`lake` is an address: a backup of a lake on this machine goes back to this machine.")
    lake = lake_folder(settings)
    _check_empty(folder, lake)
    with usable(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(folder / MARKER, f"{RESTORING}\n".encode(), durable=True)
    for path in {*folder.iterdir()} - {folder / MARKER}:  # of a restore that was cut off
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in manifest["files"]:
        if name != f"{DATA}/{MARKER}":
            _copy_back(source / name, _place(folder, lake, name))
            reach("restore.after_file")
    _finish(folder, lake, source)
    shown = ("log", "from", "to", "in the lake to")
    held = {name: manifest[name] for name in shown if name in manifest}
    return {"in": str(folder), "made": manifest["began"], **held, "files": len(manifest["files"])}


def read_manifest(source: Path) -> dict[str, Any]:
    """Return the manifest of a whole backup; raises WrongSetting that names what is missing or was changed."""
    try:
        manifest: dict[str, Any] = json.loads((source / MANIFEST).read_text())
    except FileNotFoundError:
        is_begun = (source / UNFINISHED).exists()
        what = "holds a backup that was cut off: back up into it again" if is_begun else "holds no backup"
        raise WrongSetting(f"{source} {what} (it has no {MANIFEST}).") from None
    except (OSError, ValueError) as error:
        raise WrongSetting(f"Cannot read {source / MANIFEST}: {error}. Take another backup.") from error
    if manifest.get("format", 0) > FORMAT:
        raise WrongSetting(f"{source} was made by Headwater {manifest.get('headwater')}. Use that, or a newer one.")
    wrong = [f"{name} {said}" for name, kept in manifest["files"].items() if (said := _fault(source / name, kept))]
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise WrongSetting(
            f"The backup {source} is not whole: {'; '.join(wrong[:_SHOWN])}{more}. Nothing was restored. Copy it anew "
            "from where it was kept, or take another backup."
        )
    return manifest


def _fault(path: Path, kept: dict[str, Any]) -> str | None:
    try:
        return None if described(path) == kept else "was changed"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _check_empty(folder: Path, lake: Path) -> None:
    """Raise WrongSetting unless both places are empty; the data folder may hold what a restore that was cut off left.

    A lake elsewhere may not: nothing in it says whose it is.
    """
    marker = folder / MARKER
    begun = marker.is_file() and marker.read_text().strip() == RESTORING
    places = [] if begun else [folder]
    places += [] if lake.is_relative_to(folder) else [lake]
    for place in places:
        if place.is_dir() and any(place.iterdir()):
            raise WrongSetting(f"{place} is not empty. Restore into a new folder: move this one away, or use --data.")


def _place(folder: Path, lake: Path, name: str) -> Path:
    parts = Path(name).relative_to(DATA)
    return lake.joinpath(*parts.parts[1:]) if parts.parts[0] == "lake" else folder / parts


def _copy_back(path: Path, target: Path) -> None:
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_file(path, target)
    except OSError as error:
        raise LakeUnavailable(f"Cannot restore {target}: {error}. Free space, then restore again.") from error


def _finish(folder: Path, lake: Path, source: Path) -> None:
    """Let `headwater up` take the folder, once all else is on disk."""
    for place in {folder, lake}:
        for inside, _, _ in os.walk(place):
            sync_folder(Path(inside))
    write_whole(folder / MARKER, (source / DATA / MARKER).read_bytes(), durable=True)
