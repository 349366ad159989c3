"""The lake into a backup: each table as of one version, in an order in which nothing points at what is missing.

Who follows is copied before what it follows: silver, gold and sinks before bronze; in bronze `events`, whose
transaction is the watermark, before the tables whose rows a batch commits before it. A copy may so hold rows of a batch
beyond its watermark, as after a kill: the parser knows these.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from headwater.errors import LakeUnavailable
from headwater.index.snapshots.snapshot_shelf import FOLDER as SNAPSHOTS
from headwater.lake.delta_table import LakeTable
from headwater.local.backup.file_copies import Copies
from headwater.local.lake_files import LakeFiles
from headwater.storage_faults import explain
from headwater.tables import BRONZE, STATE

LOG = "_delta_log"
_NUMBERED = re.compile(r"(\d{20})\.(json|checkpoint\..*parquet)")
_LAST_FIRST = [f"bronze/{table.name}" for table in reversed(BRONZE)]


def copy_lake(lake: LakeFiles, copies: Copies, into: str) -> dict[str, int]:
    """Copy every table, and what lies beside them; returns the versions, by the tables' paths."""
    tables, others = _found(lake)
    for name in others:
        copies.take(lake.pieces(name), f"{into}/{name}", f"{lake.address}/{name}")
    done = _layer_versions(lake, tables)
    return {name: _copy_table(lake, name, copies, f"{into}/{name}", done.get(name)) for name in tables}


def _found(lake: LakeFiles) -> tuple[list[str], list[str]]:
    """Return the tables, and the files beside them; snapshots of the index are as derived as the index itself."""
    names = lake.names("")
    tables = {table for name in names if (parted := name.partition(f"/{LOG}/"))[1] and (table := parted[0])}
    others = (name for name in names if not any(str(each) in tables for each in PurePosixPath(name).parents))
    return sorted(tables, key=_rank), [name for name in others if not name.startswith(f"{SNAPSHOTS}/")]


def _rank(table: str) -> tuple[bool, int, str]:
    in_bronze = table.startswith("bronze/")
    return in_bronze, _LAST_FIRST.index(table) if table in _LAST_FIRST else len(_LAST_FIRST), table


def _layer_versions(lake: LakeFiles, tables: list[str]) -> dict[str, int]:
    """Return the versions that the last whole pass has left: what a pass under way has written since is left out."""
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
    """Return the versions of a stored position of silver (`LayerPosition.versions`), by `layer/table`."""
    kept = json.loads(state)
    found: Mapping[str, int] = kept[5] if len(kept) > 5 else {}
    return found


def _copy_table(lake: LakeFiles, name: str, copies: Copies, into: str, wanted: int | None) -> int:
    table = f"{lake.address}/{name}"
    try:
        handle = _opened(table, lake.options, wanted)
        version, files = handle.version(), handle.file_uris()
    except (DeltaError, OSError) as error:
        what = explain(error, "lake")
        raise LakeUnavailable(f"Cannot read the Delta table at {table}: {what}. Back up again.") from error
    for uri in files:
        _copy_once(lake, f"{name}/{uri.rpartition(f'/{name}/')[2]}", copies, f"{into}/{uri.rpartition(f'/{name}/')[2]}")
    for entry in _entries(lake, f"{name}/{LOG}", version):
        try:
            _copy_once(lake, f"{name}/{LOG}/{entry}", copies, f"{into}/{LOG}/{entry}")
        except FileNotFoundError:
            continue  # cleaned away meanwhile: a checkpoint stands for it
    _check_copy(copies.folder / into, version, len(files))
    return version


def _copy_once(lake: LakeFiles, name: str, copies: Copies, into: str) -> None:
    """Copy a file that is never changed, unless that was done."""
    if into not in copies.files:
        copies.take(lake.pieces(name), into, f"{lake.address}/{name}")


def _opened(table: str, options: Mapping[str, str], wanted: int | None) -> DeltaTable:
    try:
        return DeltaTable(table, version=wanted, storage_options=dict(options) or None)
    except DeltaError:
        if wanted is None:
            raise
        # its log was cleaned away: since then only maintenance has written
        return DeltaTable(table, storage_options=dict(options) or None)


def _entries(lake: LakeFiles, log: str, version: int) -> Iterator[str]:
    """Yield the entries up to a version, newest first: an older one that is cleaned away meanwhile is not needed."""
    for name in sorted((name.removeprefix(f"{log}/") for name in lake.names(log)), reverse=True):
        numbered = _NUMBERED.fullmatch(name)
        if numbered and int(numbered[1]) <= version:
            yield name


def _check_copy(table: Path, version: int, files: int) -> None:
    try:
        handle = DeltaTable(str(table), version=version)
        is_whole = len(handle.file_uris()) == files
    except DeltaError as error:
        raise LakeUnavailable(f"The copy {table} cannot be read: {error}. Back up again.") from error
    if not is_whole:
        raise LakeUnavailable(f"The copy {table} is not the version {version} that it was made of. Back up again.")
