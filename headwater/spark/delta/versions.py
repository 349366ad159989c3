"""Make batches atomic: before a batch starts, it reverts the commits of an interrupted batch.

The last commit of a batch records the version of every table. The next batch first restores these versions, so it finds
the tables as the last complete batch left them. It may process newer events than the interrupted batch. Commits that
change no rows (OPTIMIZE, VACUUM, a new column) are never reverted, even if another program made them.
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
from headwater.spark.delta.spark_delta import TableFolder, run_concurrently
from headwater.spark.delta.storage_place import StoragePlace
from headwater.tables import Table

log = logging.getLogger(__name__)

Versions = Mapping[str, int]
"""Number of the newest commit of each table, by `layer/table`."""

COMMIT_METADATA_SETTING = "spark.databricks.delta.commitInfo.userMetadata"
"""Session setting with a text that Delta records in each commit of the session: here, the name of the writer."""

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet")


def table_versions(folders: Mapping[str, TableFolder], tables: Mapping[str, Sequence[Table]]) -> Versions:
    """Return the versions of all tables. Lists the log folder of each table and runs no Spark job.

    folders, tables: the folder and the tables of each layer, by name of the layer.
    """
    return {
        f"{layer}/{table.name}": newest_version(folder, table)
        for layer, folder in folders.items()
        for table in tables[layer]
    }


def newest_version(folder: TableFolder, table: Table) -> int:
    """Return the number of a table's newest commit."""
    names = (_COMMIT.fullmatch(name) for name in _log_place(folder, table.name).names())
    return max(int(name[1]) for name in names if name)


def transaction_version(folder: TableFolder, table: Table, app_id: str) -> int | None:
    """Return the highest version of the transaction `app_id` in a table, or None if the transaction was never set.

    Reads the files of the newest checkpoint and of later commits, so it works with any Delta library.
    """
    names = _log_place(folder, table.name).names()
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


def has_later_commit(folder: TableFolder, table: Table, version: int) -> bool:
    """Return whether a table has a commit after this version. Checks whether one file exists and lists no folder."""
    return _log_place(folder, table.name).exists(f"{version + 1:020d}.json")


def is_newest_version(log: StoragePlace, version: int) -> bool:
    """Return whether a version is the newest one of a table. Checks whether two files exist and lists no folder.

    log: the folder `_delta_log` of the table.
    """
    return log.exists(f"{version:020d}.json") and not log.exists(f"{version + 1:020d}.json")


def commits_with_writers(folder: TableFolder, table: str, after: int, newest: int) -> Iterator[tuple[int, str | None]]:
    """Yield the number and the writer of each commit from `after + 1` to `newest` that changes rows.

    The writer is the text of `COMMIT_METADATA_SETTING`, or None if the commit has no such text.
    """
    for number in range(after + 1, newest + 1):
        text = _commit_text(folder, table, number)
        if '"dataChange":true' in text:
            yield number, _signature_in_commit(text)


def newest_signature(folder: TableFolder, table: Table) -> str | None:
    """Return the text of `COMMIT_METADATA_SETTING` in the newest commit of a table, or None if it has none."""
    return _signature_in_commit(_commit_text(folder, table.name, newest_version(folder, table)))


@contextmanager
def translate_write_conflicts(root: str) -> Iterator[None]:
    """Raise LakeUnavailable if Delta rejects a commit because of a concurrent commit. root: the path of the lake."""
    try:
        yield
    except PySparkException as error:
        if not type(error).__module__.startswith("delta.exceptions"):
            raise
        raise LakeUnavailable(
            f"Another writer changed silver or gold in {root} at the same time. The next pass reverts what this pass "
            "wrote. Run it again."
        ) from error


def restore_tables(folders: Mapping[str, TableFolder], before: Versions, now: Versions) -> bool:
    """Restore the tables that have changed since the last complete batch. Returns whether any table was restored.

    before: the versions after the last complete batch. now: the current versions. Raises WrongSetting if a table is
    older than in `before`.
    """
    steps = []
    for key, version in before.items():
        layer, _, name = key.partition("/")
        if now[key] < version:
            raise WrongSetting(
                f"{folders[layer].root}/{name} is older than the version that the last pass recorded. Run a pass with "
                "--rebuild."
            )
        first = next((number for number, _ in commits_with_writers(folders[layer], name, version, now[key])), None)
        if first is not None:  # not `version`: files from before a compaction may be deleted
            log.warning("A pass was interrupted. Restoring %s/%s to version %d.", folders[layer].root, name, first - 1)
            steps.append(partial(_restore_table, folders[layer], name, first - 1))
    run_concurrently(*steps)
    return bool(steps)


def tables_of_other_writers(
    folders: Mapping[str, TableFolder], before: Versions, now: Versions, name: str
) -> list[str]:
    """Return the tables (`layer/table`) in which a writer other than `name` changed rows after version `before`."""
    return [
        key
        for key, (layer, _, table) in ((key, key.partition("/")) for key in now)
        if any(writer != name for _, writer in commits_with_writers(folders[layer], table, before[key], now[key]))
    ]


def _commit_text(folder: TableFolder, table: str, number: int) -> str:
    return _log_place(folder, table).read(f"{number:020d}.json")


def _signature_in_commit(commit: str) -> str | None:
    infos = [json.loads(line)["commitInfo"] for line in commit.splitlines() if line.startswith('{"commitInfo"')]
    return infos[0].get("userMetadata") if infos else None


def _log_place(folder: TableFolder, table: str) -> StoragePlace:
    return StoragePlace(folder.spark, f"{folder.root}/{table}/_delta_log")


def _restore_table(folder: TableFolder, name: str, version: int) -> None:
    DeltaTable.forPath(folder.spark, f"{folder.root}/{name}").restoreToVersion(version)
