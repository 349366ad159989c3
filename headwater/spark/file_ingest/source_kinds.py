"""The kinds of sources in storage and the functions that ingest them, for commands and the notebook `Ingest`."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.spark.file_ingest.append_only_sources import (
    PLUGIN,
    AppendOnlySource,
    AppendOnlySourceIngest,
    read_capture_files,
    read_json_table,
    read_plugin_table,
)
from headwater.spark.file_ingest.event_files import EventFileIngest
from headwater.spark.file_ingest.plugin_leftovers import FOLDER, commit_leftovers, leftover_batches
from headwater.spark.log_ingest.bronze_writer import SparkBronze
from headwater.spark.one_pass import hold_lake_lock

BODY_COLUMNS = ("value", "body", "event")
"""Names of columns that may contain the events, in order of preference, if a table has several columns of text."""


@dataclass(frozen=True)
class StorageSource:
    """A source in storage to ingest.

    place: path or URI of a folder, file or table that Spark can read.
    name: name of the log that the events get in the lake.
    kind: a key of `KINDS`, or None to detect the kind.
    column: the column with the events in a table of JSON, or None to detect the column.
    since_us: ingest only files that were written at or after this time; 0: all files.
    keep_s: delete ingested files that were last written more than this many seconds ago; None: keep all files.
    claims: folder or URI of large bodies, or None if the source has none.
    """

    place: str
    name: str
    kind: str | None = None
    column: str | None = None
    since_us: int = 0
    keep_s: float | None = None
    claims: str | None = None


OnProgress = Callable[[str], None]


def ingest_source(
    spark: SparkSession, lake: str, source: StorageSource, on_progress: OnProgress = lambda _: None
) -> dict[str, Any]:
    """Ingest the new records of a source into bronze. Events that the lake already contains become duplicates.

    on_progress: called after each batch with a line of text about the progress.

    Returns `log` (name of the log), the counts of this run, and `records_in_lake` (number of records of this log that
    the lake contains). Raises WrongSetting if the options do not fit the source or the lake has no bronze. Raises Retry
    if the ingest fails or another ingest is running.
    """
    if not re.fullmatch(r"[A-Za-z0-9._-]+", source.name):
        raise WrongSetting(
            f"{source.name!r} is not a valid name of a log. Use only letters, digits, dots, dashes and underscores."
        )
    bronze = SparkBronze(spark, f"{lake}/bronze")
    if not bronze.exists():
        raise WrongSetting(
            f"{lake} has no bronze tables. Start `headwater up` or `headwater spark stream` once, or check the path."
        )
    try:
        with hold_lake_lock(spark, lake, "ingest/_lock"):
            ingest = KINDS[_checked_kind(spark, source)]
            outcome = ingest(spark, lake, source, on_progress)
            return {
                "log": source.name,
                **outcome,
                "records_in_lake": bronze.save_record_count(source.name, _now_us()),
            }
    except (PySparkException, Py4JJavaError) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise LakeUnavailable(f"The ingest failed: {reason}. Run it again.") from error


def _checked_kind(spark: SparkSession, source: StorageSource) -> str:
    """Return the kind of a source. Raises WrongSetting if the kind does not fit the place or the options."""
    kind = source.kind or _detect_kind(spark, source.place)
    if kind not in KINDS:
        raise WrongSetting(f"Unknown format {kind!r}. Formats: {', '.join(KINDS)}.")
    is_table = DeltaTable.isDeltaTable(spark, source.place)
    if kind in ("plugin", "table") and not is_table and not (kind == "plugin" and _has_leftovers(spark, source.place)):
        raise WrongSetting(f"No Delta table in {source.place}. Use the table's folder, or omit --format for files.")
    if kind != "table" and source.column:
        raise WrongSetting(f"--column is for a table of JSON, but {source.place} is read as {kind}. Omit --column.")
    if kind != "ndjson" and (source.since_us, source.keep_s) != (0, None):
        raise WrongSetting(
            f"--since and --keep are for files of events, but {source.place} is read as {kind}. Omit them. To delete "
            "old data, use DELETE and VACUUM for a table, or a lifecycle rule for a container of Capture."
        )
    return kind


def _detect_kind(spark: SparkSession, place: str) -> str:
    if not DeltaTable.isDeltaTable(spark, place):
        return "plugin" if _has_leftovers(spark, place) else "ndjson"
    return "plugin" if set(PLUGIN) <= set(spark.read.format("delta").load(place).columns) else "table"


def _ingest_files(spark: SparkSession, lake: str, source: StorageSource, on_progress: OnProgress) -> dict[str, Any]:
    files = EventFileIngest(spark, lake, source.name, source.place)

    def report(count: int, size: int, files: int, all_bytes: int) -> None:
        on_progress(f"{count:,} of {files:,} files, {size >> 20:,} of {all_bytes >> 20:,} MiB")

    outcome = files.ingest(source.since_us, report)
    return outcome if source.keep_s is None else outcome | {"deleted": files.delete(source.keep_s)}


def _ingest_append_only(
    read: Callable[[StorageSource, SparkSession], Any],
    spark: SparkSession,
    lake: str,
    source: StorageSource,
    on_progress: OnProgress,
) -> dict[str, Any]:
    stream = AppendOnlySource(source.name, partial(read, source), source.kind != "capture", source.claims)
    return AppendOnlySourceIngest(spark, lake, stream).ingest(lambda count: on_progress(f"{count:,} records"))


def _has_leftovers(spark: SparkSession, place: str) -> bool:
    """Return whether the plugin has left files. Such files may exist even if the plugin has not created its table."""
    return bool(leftover_batches(spark, place))


def _ingest_plugin_table(
    spark: SparkSession, lake: str, source: StorageSource, on_progress: OnProgress
) -> dict[str, Any]:
    """Move leftover files into the plugin's table, then ingest the table.

    Returns the counts of the stream, and as `left` the number of files that could not be moved.
    """
    try:
        commit_leftovers(spark, source.place)
    except (PySparkException, Py4JJavaError) as error:
        if not DeltaTable.isDeltaTable(spark, source.place):
            raise
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        on_progress(
            f"The files in {source.place}/{FOLDER} are NOT ingested, because the table cannot be written: {reason}"
        )
    outcome = _ingest_append_only(
        lambda landing, spark: read_plugin_table(landing.place, spark), spark, lake, source, on_progress
    )
    return outcome | {"left": len(leftover_batches(spark, source.place))}


def _json_table(source: StorageSource, spark: SparkSession) -> Any:
    types = dict(spark.read.format("delta").load(source.place).dtypes)
    fitting = [name for name, kind in types.items() if kind in ("string", "binary")]
    wanted = [source.column] if source.column else [*fitting] if len(fitting) == 1 else [*BODY_COLUMNS]
    column = next((name for name in wanted if name in fitting), None)
    if column is None:
        has = ", ".join(fitting) or "none"
        raise WrongSetting(
            f"Cannot detect the column of {source.place} that contains the events. Set it with --column. "
            f"Columns of text or bytes: {has}."
        )
    return read_json_table(source.place, column, spark)


def _now_us() -> int:
    return time.time_ns() // 1000


KINDS: Mapping[str, Callable[[SparkSession, str, StorageSource, OnProgress], dict[str, Any]]] = {
    "ndjson": _ingest_files,
    "capture": partial(_ingest_append_only, lambda landing, spark: read_capture_files(landing.place, spark)),
    "plugin": _ingest_plugin_table,
    "table": partial(_ingest_append_only, _json_table),
}
"""The function that ingests each kind of source, by name of the kind.

ndjson: files of events in any supported format; capture: files of Event Hubs Capture; plugin: the Spark plugin's table;
table: a Delta table with a column of JSON.
"""
