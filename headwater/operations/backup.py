"""`headwater backup`: copy derived data before its source and the log last, so no acknowledged event is missing.

Every event acknowledged before the backup started is in the copy of the lake or, after its watermark, in the later copy
of the log. If the log was copied first, it could end before the lake's watermark, and the two would not match.

Each table of the lake is copied at one version: silver, gold and sinks before bronze. Within bronze, `events`, whose
transaction is the watermark, is copied before the tables that a batch commits first. As after a kill, the copy may
contain rows of a batch beyond its watermark, which the parser recognises.
"""

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.common.failpoints import reach_failpoint
from headwater.common.storage_faults import explain_storage_error
from headwater.index.snapshots.storage import FOLDER as SNAPSHOTS
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.segment_faults import segment_errors
from headwater.intake.event_log.segments import open_readonly, sync_folder
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.parser.log_match import check_log_belongs_to_lake
from headwater.lake.delta_table import LakeTable
from headwater.operations.lake_files import LakeFiles, copy_file, file_entry, open_lake_files, write_file
from headwater.operations.runtime.data_folder import folder_errors, folder_lock, require_data_folder
from headwater.operations.runtime.storage import claims_folder, is_lake_remote, lake_folder, open_bronze
from headwater.operations.settings import Settings
from headwater.tables import BRONZE, STATE

FORMAT = 1
DATA = "data"
MANIFEST = "manifest.json"
UNFINISHED = "unfinished"
_DERIVED = ("index", "run")
_LAST = ("lake", "log", "claims")
"""Folders to copy last, in this order. All other files of the data folder, such as `sinks.yml`, are copied first."""
_TRIES = 5
_SIDE_FILES = ("-wal", "-shm", "-journal")

FileHashes = dict[str, dict[str, int | str]]
"""Maps the path of each file in the backup to its size (`bytes`) and its hash (`sha256`)."""

_DELTA_LOG = "_delta_log"
_NUMBERED = re.compile(r"(\d{20})\.(json|checkpoint\..*parquet)")
_LAST_FIRST = [f"bronze/{table.name}" for table in reversed(BRONZE)]

_NEWEST_STATE = """SELECT state FROM t WHERE part = 'position' AND state IS NOT NULL
    ORDER BY batch DESC NULLS LAST LIMIT 1"""


class BackupFiles:
    """Copies files into the folder of a backup, and records the size and the hash of each copy in `files`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: FileHashes = {}

    def copy_file(self, source: Path, name: str) -> None:
        """Copy a file to the path `name` in the backup. A SQLite database may be in use: its copy is consistent.

        Raises LakeUnavailable or LogUnavailable if the file cannot be copied.
        """
        if source.name.endswith(_SIDE_FILES):
            return  # the copy of the database includes the content of its side files
        with self._record_target(name, str(source)) as target:
            if source.suffix == ".sqlite":
                _copy_database(source, target)
                self.files[name] = file_entry(target)
            else:
                self.files[name] = copy_file(source, target)

    def write_pieces(self, pieces: Iterable[bytes], name: str, source: str) -> None:
        """Write a file of the backup from its pieces. source: the address of the original file, for error messages."""
        with self._record_target(name, source) as target:
            self.files[name] = write_file(pieces, target)

    @contextmanager
    def _record_target(self, name: str, source: str) -> Iterator[Path]:
        target = self.folder / name
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield target
        except FileNotFoundError:
            raise
        except OSError as error:
            raise LakeUnavailable(
                f"Cannot copy {source} to {target}: {error}. Check permissions and free disk space."
            ) from error

    def drop_missing(self) -> None:
        """Remove the copies that no longer exist in the backup's folder from `files`."""
        self.files = {name: found for name, found in self.files.items() if (self.folder / name).exists()}


def back_up(settings: Settings, target: Path) -> dict[str, Any]:
    """Copy log, lake and everything that cannot be derived into a new folder; Headwater may be running.

    An interrupted backup can be repeated into the same folder. Returns a summary.
    Raises WrongSetting if the folder is in use or contains other files, Retry if storage fails.
    """
    folder, target = require_data_folder(settings), target.expanduser().resolve()
    for own in (folder, *([] if is_lake_remote(settings) else [lake_folder(settings)])):
        if target.is_relative_to(own):
            raise WrongSetting(f"{target} is inside {own}, which is being copied. Choose a folder elsewhere.")
    with folder_lock(folder, "backup", wait_s=0):
        with folder_errors(target):
            _create_target(target)
        copies, began = BackupFiles(target), datetime.now(UTC).isoformat(timespec="seconds")
        tables, held = _copy_until_consistent(settings, folder, copies)
        manifest = {
            "format": FORMAT, "headwater": version("headwater"), "began": began, **held,
            "tables": tables, "files": copies.files,
        }  # fmt: skip
        _publish_manifest(target, manifest)
    return {
        "in": str(target), **held, "tables": len(tables), "files": len(copies.files),
        "bytes": sum(int(each["bytes"]) for each in copies.files.values()),
        "not in it": ", ".join(_excluded_notes(settings)),
    }  # fmt: skip


def _create_target(target: Path) -> None:
    found = {path.name for path in target.iterdir()} if target.is_dir() else set()
    if found and UNFINISHED not in found:
        raise WrongSetting(f"{target} is not empty. Choose a new folder for the backup.")
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    (target / UNFINISHED).touch()
    for left in (target / DATA, target / MANIFEST):
        shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    (target / DATA).mkdir(mode=0o700)


def _copy_until_consistent(
    settings: Settings, folder: Path, copies: BackupFiles
) -> tuple[dict[str, int], dict[str, Any]]:
    """Copy the data folder and the lake, and repeat until the copies of log and lake match.

    They do not match if retention deletes records of the log after the lake was copied and before the log is copied.
    Returns the version of each table by table path, and the result of `_copied_positions` for the manifest.
    """
    lost: set[bytes] = set()
    for left in reversed(range(_TRIES)):
        shutil.rmtree(copies.folder / DATA / "log", ignore_errors=True)
        try:
            for path in _other_files(folder):
                copies.copy_file(path, f"{DATA}/{path.relative_to(folder)}")
            tables = copy_lake(open_lake_files(settings), copies, f"{DATA}/lake")
            reach_failpoint("backup.after_lake")
            _copy_all(folder / "log", copies, f"{DATA}/log")
            _copy_all(claims_folder(settings), copies, f"{DATA}/claims")
        except FileNotFoundError:
            continue
        copies.drop_missing()
        held, missing = _copied_positions(settings, copies.folder / DATA)
        if held and (missing <= lost or not left):  # the previous try missed the same bodies, so they are deleted
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
    """Copy the files of a folder, oldest log segments first. Skip files that retention deletes during the copy."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            copies.copy_file(path, f"{into}/{path.name}")
        except FileNotFoundError:
            continue


def _copied_positions(settings: Settings, copy: Path) -> tuple[dict[str, Any] | None, set[bytes]]:
    """Return the positions of the copied log and lake, and the keys of large bodies that the copy lacks.

    The positions are None if records are missing between the lake's watermark and the first record of the log.
    Raises WrongSetting if the log does not belong to the lake.
    """
    of_copy = settings.model_copy(update={"data": copy, "lake": None})
    if settings.log != "sqlite":
        return {"log": settings.log}, set()
    bronze = open_bronze(of_copy)
    with closing(SqliteLogReader(copy / "log")) as reader:
        check_log_belongs_to_lake([reader], bronze)
        if not reader.has_segment():
            return {"log": settings.log}, set()
        head, passed = reader.head(), bronze.watermark(reader.source)
        held = {"log": reader.source.epoch, "from": head, "to": reader.tail(), "in the lake to": passed}
        missing = (
            set() if settings.claims_url else set(reader.referenced_claim_keys()) - FolderClaims(copy / "claims").keys()
        )
    return (held if head <= passed + 1 else None), missing


def _publish_manifest(target: Path, manifest: dict[str, Any]) -> None:
    for place, _, _ in os.walk(target):
        sync_folder(Path(place))
    atomic_write(target / MANIFEST, json.dumps(manifest, indent=1).encode(), durable=True)
    (target / UNFINISHED).unlink()
    sync_folder(target)


def _excluded_notes(settings: Settings) -> list[str]:
    places = [settings.rules and f"rules ({settings.rules})", settings.sinks and f"sinks ({settings.sinks})"]
    places += [settings.keys_file and f"keys ({settings.keys_file})"]
    claims = settings.claims_url and "claims (in their container)"
    log = settings.log != "sqlite" and f"log ({settings.log})"
    return ["index", "headwater.toml and its keys", *(str(each) for each in (*places, claims, log) if each)]


def copy_lake(lake: LakeFiles, copies: BackupFiles, into: str) -> dict[str, int]:
    """Copy all tables and other files of the lake. Returns the copied version of each table by table path."""
    tables, others = _list_tables_and_files(lake)
    for name in others:
        copies.write_pieces(lake.pieces(name), f"{into}/{name}", f"{lake.address}/{name}")
    done = _layer_versions(lake, tables)
    return {name: _copy_table(lake, name, copies, f"{into}/{name}", done.get(name)) for name in tables}


def _list_tables_and_files(lake: LakeFiles) -> tuple[list[str], list[str]]:
    """Return the paths of the tables in copying order, and the paths of all other files of the lake.

    Snapshots of the index are not included, because Headwater can build them again from bronze.
    """
    names = lake.names("")
    tables = {table for name in names if (parted := name.partition(f"/{_DELTA_LOG}/"))[1] and (table := parted[0])}
    others = (name for name in names if not any(str(each) in tables for each in PurePosixPath(name).parents))
    return sorted(tables, key=_copy_rank), [name for name in others if not name.startswith(f"{SNAPSHOTS}/")]


def _copy_rank(table: str) -> tuple[bool, int, str]:
    in_bronze = table.startswith("bronze/")
    return in_bronze, _LAST_FIRST.index(table) if table in _LAST_FIRST else len(_LAST_FIRST), table


def _layer_versions(lake: LakeFiles, tables: list[str]) -> dict[str, int]:
    """Return the version of each silver and gold table after the last complete pass, by table path.

    Copying these versions leaves out the writes of an unfinished pass.
    """
    found: dict[str, int] = {}
    for name in tables:
        layer, _, rest = name.partition("/")
        generation, _, table = rest.partition("/")
        if layer == "silver" and table == STATE.name:
            stored = LakeTable(f"{lake.address}/{name}", STATE, lake.options)
            rows = stored.run_query(_NEWEST_STATE)
            states = rows.column("state").to_pylist()
            for key, version in last_versions(states[0]).items() if states else ():
                at, _, of = key.partition("/")
                found[f"{at}/{generation}/{of}"] = version
            found[name] = stored.handle().version()
    return found


def last_versions(state: str) -> Mapping[str, int]:
    """Return the table versions (`LayerPosition.versions`) in the stored position of a pass, by `layer/table`."""
    kept = json.loads(state)
    found: Mapping[str, int] = kept[5] if len(kept) > 5 else {}
    return found


def _copy_table(lake: LakeFiles, name: str, copies: BackupFiles, into: str, wanted: int | None) -> int:
    table = f"{lake.address}/{name}"
    try:
        handle = _open_table(table, lake.options, wanted)
        version, files = handle.version(), handle.file_uris()
    except (DeltaError, OSError) as error:
        what = explain_storage_error(error, "lake")
        raise LakeUnavailable(f"Cannot read the Delta table at {table}: {what}. Run the backup again.") from error
    for uri in files:
        _copy_once(lake, f"{name}/{uri.rpartition(f'/{name}/')[2]}", copies, f"{into}/{uri.rpartition(f'/{name}/')[2]}")
    for entry in _log_entries(lake, f"{name}/{_DELTA_LOG}", version):
        try:
            _copy_once(lake, f"{name}/{_DELTA_LOG}/{entry}", copies, f"{into}/{_DELTA_LOG}/{entry}")
        except FileNotFoundError:
            continue  # log clean-up has deleted the entry meanwhile, so a checkpoint contains its changes
    _check_copy(copies.folder / into, version, len(files))
    return version


def _copy_once(lake: LakeFiles, name: str, copies: BackupFiles, into: str) -> None:
    """Copy an immutable file, unless it was already copied."""
    if into not in copies.files:
        copies.write_pieces(lake.pieces(name), into, f"{lake.address}/{name}")


def _open_table(table: str, options: Mapping[str, str], version: int | None) -> DeltaTable:
    try:
        return DeltaTable(table, version=version, storage_options=dict(options) or None)
    except DeltaError:
        if version is None:
            raise
        # log clean-up has deleted the log of that version; since then, only maintenance has written to the table
        return DeltaTable(table, storage_options=dict(options) or None)


def _log_entries(lake: LakeFiles, log: str, version: int) -> Iterator[str]:
    """Yield the names of a table's log entries up to a version, newest first.

    Log clean-up deletes the oldest entries. The newest entries, which are already copied by then, replace them.
    """
    for name in sorted((name.removeprefix(f"{log}/") for name in lake.names(log)), reverse=True):
        numbered = _NUMBERED.fullmatch(name)
        if numbered and int(numbered[1]) <= version:
            yield name


def _check_copy(table: Path, version: int, files: int) -> None:
    try:
        handle = DeltaTable(str(table), version=version)
        is_whole = len(handle.file_uris()) == files
    except DeltaError as error:
        raise LakeUnavailable(f"The copy {table} cannot be read: {error}. Run the backup again.") from error
    if not is_whole:
        raise LakeUnavailable(f"The copy {table} does not match version {version} of its source. Run the backup again.")


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database with SQLite's backup API in one step. The copy has no side files.

    The copy does not block a concurrent writer, and does not contain uncommitted changes.
    """
    if not source.exists():
        raise FileNotFoundError(source)
    target.unlink(missing_ok=True)
    with segment_errors(source), closing(open_readonly(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)
        written.execute("PRAGMA journal_mode=DELETE")
