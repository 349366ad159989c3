"""Copy the lake into a backup: each table at one version, in an order that never leaves a dangling reference.

Derived tables are copied before their source: silver, gold and sinks before bronze. Within bronze, `events`, whose
transaction is the watermark, is copied before the tables that a batch commits first. As after a kill, the copy may
contain rows of a batch beyond its watermark, which the parser recognises.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from headwater.common.errors import LakeUnavailable
from headwater.common.storage_faults import explain
from headwater.index.snapshots.storage import FOLDER as SNAPSHOTS
from headwater.lake.delta_table import LakeTable
from headwater.operations.backup.file_copies import BackupFiles
from headwater.operations.local.lake_files import LakeFiles
from headwater.tables import BRONZE, STATE

LOG = "_delta_log"
_NUMBERED = re.compile(r"(\d{20})\.(json|checkpoint\..*parquet)")
_LAST_FIRST = [f"bronze/{table.name}" for table in reversed(BRONZE)]


def copy_lake(lake: LakeFiles, copies: BackupFiles, into: str) -> dict[str, int]:
    """Copy all tables and other files of the lake; returns the versions by table path."""
    tables, others = _found(lake)
    for name in others:
        copies.write(lake.pieces(name), f"{into}/{name}", f"{lake.address}/{name}")
    done = _layer_versions(lake, tables)
    return {name: _copy_table(lake, name, copies, f"{into}/{name}", done.get(name)) for name in tables}


def _found(lake: LakeFiles) -> tuple[list[str], list[str]]:
    """Return the tables and all other files; snapshots of the index are skipped, because they can be derived."""
    names = lake.names("")
    tables = {table for name in names if (parted := name.partition(f"/{LOG}/"))[1] and (table := parted[0])}
    others = (name for name in names if not any(str(each) in tables for each in PurePosixPath(name).parents))
    return sorted(tables, key=_rank), [name for name in others if not name.startswith(f"{SNAPSHOTS}/")]


def _rank(table: str) -> tuple[bool, int, str]:
    in_bronze = table.startswith("bronze/")
    return in_bronze, _LAST_FIRST.index(table) if table in _LAST_FIRST else len(_LAST_FIRST), table


def _layer_versions(lake: LakeFiles, tables: list[str]) -> dict[str, int]:
    """Return the table versions of the last complete pass, so that writes of an unfinished pass are left out."""
    found: dict[str, int] = {}
    for name in tables:
        layer, _, rest = name.partition("/")
        generation, _, table = rest.partition("/")
        if layer == "silver" and table == STATE.name:
            stored = LakeTable(f"{lake.address}/{name}", STATE, lake.options)
            rows = stored.query("SELECT state FROM t WHERE part = 'position' AND state IS NOT NULL LIMIT 1")
            states = rows.column("state").to_pylist()
            for key, version in last_versions(states[0]).items() if states else ():
                at, _, of = key.partition("/")
                found[f"{at}/{generation}/{of}"] = version
            found[name] = stored.handle().version()
    return found


def last_versions(state: str) -> Mapping[str, int]:
    """Return the versions in a stored position of silver (`LayerPosition.versions`), by `layer/table`."""
    kept = json.loads(state)
    found: Mapping[str, int] = kept[5] if len(kept) > 5 else {}
    return found


def _copy_table(lake: LakeFiles, name: str, copies: BackupFiles, into: str, wanted: int | None) -> int:
    table = f"{lake.address}/{name}"
    try:
        handle = _opened(table, lake.options, wanted)
        version, files = handle.version(), handle.file_uris()
    except (DeltaError, OSError) as error:
        what = explain(error, "lake")
        raise LakeUnavailable(f"Cannot read the Delta table at {table}: {what}. Run the backup again.") from error
    for uri in files:
        _copy_once(lake, f"{name}/{uri.rpartition(f'/{name}/')[2]}", copies, f"{into}/{uri.rpartition(f'/{name}/')[2]}")
    for entry in _entries(lake, f"{name}/{LOG}", version):
        try:
            _copy_once(lake, f"{name}/{LOG}/{entry}", copies, f"{into}/{LOG}/{entry}")
        except FileNotFoundError:
            continue  # deleted meanwhile by log clean-up, so a checkpoint replaces it
    _check_copy(copies.folder / into, version, len(files))
    return version


def _copy_once(lake: LakeFiles, name: str, copies: BackupFiles, into: str) -> None:
    """Copy an immutable file, unless it was already copied."""
    if into not in copies.files:
        copies.write(lake.pieces(name), into, f"{lake.address}/{name}")


def _opened(table: str, options: Mapping[str, str], wanted: int | None) -> DeltaTable:
    try:
        return DeltaTable(table, version=wanted, storage_options=dict(options) or None)
    except DeltaError:
        if wanted is None:
            raise
        # the log of that version was cleaned up: only maintenance has written since then
        return DeltaTable(table, storage_options=dict(options) or None)


def _entries(lake: LakeFiles, log: str, version: int) -> Iterator[str]:
    """Yield log entries up to a version, newest first, so that entries deleted meanwhile are not needed."""
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
