"""A batch is done as a whole or not at all: what one that was cut off has written is taken back before the next one.

The last commit of a batch names the version of every table. Reading and writing then need no care for halves: what a
batch finds is what the one before has left, and it may take events that have come since. Commits that change no rows
(OPTIMIZE, VACUUM, a new column), whoever makes them, are no part of that: they stand.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.spark.delta.spark_delta import TableFolder, together
from headwater.spark.delta.storage_place import StoragePlace
from headwater.tables import Table

log = logging.getLogger(__name__)

Versions = Mapping[str, int]
"""By `layer/table` the number of its newest commit."""

SIGNED = "spark.databricks.delta.commitInfo.userMetadata"
"""The session's setting that names the writer in each commit."""

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet")


def versions(folders: Mapping[str, TableFolder], tables: Mapping[str, Sequence[Table]]) -> Versions:
    """Look up how far tables are, in their logs' folders: Spark has no part in it."""
    return {
        f"{layer}/{table.name}": newest(folder, table) for layer, folder in folders.items() for table in tables[layer]
    }


def newest(folder: TableFolder, table: Table) -> int:
    """Return the number of a table's newest commit."""
    names = (_COMMIT.fullmatch(name) for name in _log(folder, table.name).names())
    return max(int(name[1]) for name in names if name)


def transaction(folder: TableFolder, table: Table, app_id: str) -> int | None:
    """Return the version of an application's transaction, None if it never wrote: versions only grow.

    It is in the newest checkpoint or in a commit after it, whichever library wrote these and reads them here.
    """
    names = _log(folder, table.name).names()
    checkpoints = {name: int(found[1]) for name in names if (found := _CHECKPOINT.fullmatch(name))}
    last = max(checkpoints.values(), default=-1)
    commits = [name for name in names if (found := _COMMIT.fullmatch(name)) and int(found[1]) > last]
    reader = folder.spark.read.schema("txn STRUCT<appId: STRING, version: BIGINT>")
    at = f"{folder.uri(table)}/_delta_log"
    newest_ones = [name for name, number in checkpoints.items() if number == last]
    frames = [
        *([reader.json([f"{at}/{name}" for name in commits])] if commits else []),
        *([reader.parquet(*(f"{at}/{name}" for name in newest_ones))] if newest_ones else []),
    ]
    rows = [
        row for frame in frames for row in frame.where(F.col("txn.appId") == app_id).select("txn.version").collect()
    ]
    return max((row[0] for row in rows), default=None)


def is_followed(folder: TableFolder, table: Table, version: int) -> bool:
    """Tell whether a table has another commit behind this one: a look for one file, however long the log is."""
    return _log(folder, table.name).has(f"{version + 1:020d}.json")


def writers(folder: TableFolder, table: str, beyond: int, newest: int) -> Iterator[tuple[int, str | None]]:
    """Yield each commit beyond a version that changes rows, and who made it: what it was signed with (`SIGNED`)."""
    for number in range(beyond + 1, newest + 1):
        text = _commit(folder, table, number)
        if '"dataChange":true' in text:
            yield number, _signature(text)


def said_last(folder: TableFolder, table: Table) -> str | None:
    """Return what the newest commit of a table was signed with."""
    return _signature(_commit(folder, table.name, newest(folder, table)))


@contextmanager
def undisturbed(root: str) -> Iterator[None]:
    """Raise LakeUnavailable where Delta refuses a commit because somebody else made one meanwhile."""
    try:
        yield
    except PySparkException as error:
        if not type(error).__module__.startswith("delta.exceptions"):
            raise
        raise LakeUnavailable(
            f"Somebody else wrote silver or gold in {root} at the same time. What this pass wrote is taken back by the "
            "next. Run it again."
        ) from error


def put_back(folders: Mapping[str, TableFolder], before: Versions, now: Versions) -> bool:
    """Take tables that went on to the versions where they were; tells if any did."""
    steps = []
    for key, version in before.items():
        layer, _, name = key.partition("/")
        if now[key] < version:
            raise WrongSetting(f"{folders[layer].root}/{name} is older than the last pass. Run it with --rebuild.")
        first = next((number for number, _ in writers(folders[layer], name, version, now[key])), None)
        if first is not None:  # what was compacted between is in the way of going further: its files may be gone
            log.warning("A pass was cut off: %s/%s goes back to version %d.", folders[layer].root, name, first - 1)
            steps.append(partial(_restore, folders[layer], name, first - 1))
    together(*steps)
    return bool(steps)


def strangers(folders: Mapping[str, TableFolder], before: Versions, now: Versions, name: str) -> list[str]:
    """Return the tables whose rows were changed since by another than `name`."""
    return [
        key
        for key, (layer, _, table) in ((key, key.partition("/")) for key in now)
        if any(writer != name for _, writer in writers(folders[layer], table, before[key], now[key]))
    ]


def _commit(folder: TableFolder, table: str, number: int) -> str:
    return _log(folder, table).read(f"{number:020d}.json")


def _signature(commit: str) -> str | None:
    said = [json.loads(line)["commitInfo"] for line in commit.splitlines() if line.startswith('{"commitInfo"')]
    return said[0].get("userMetadata") if said else None


def _log(folder: TableFolder, table: str) -> StoragePlace:
    return StoragePlace(folder.spark, f"{folder.root}/{table}/_delta_log")


def _restore(folder: TableFolder, name: str, version: int) -> None:
    DeltaTable.forPath(folder.spark, f"{folder.root}/{name}").restoreToVersion(version)
