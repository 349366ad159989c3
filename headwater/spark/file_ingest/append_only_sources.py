"""Ingest append-only sources into bronze: Event Hubs Capture, the Spark plugin's table, a Delta table of JSON.

Spark's checkpoint records which data has been ingested and which files belong to the current batch. A record's sequence
number consists of the number of its batch and its place in the batch. A repeated batch therefore assigns the same
numbers.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import HeadwaterError, Retry
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.file_ingest.posted_bodies import RECORD, unpack_posted_bodies
from headwater.spark.log_ingest.batch_ingest import BatchIngest, partition_ranges
from headwater.spark.log_ingest.bronze_writer import SparkBronze

BATCH_FILES = 100
BATCH_RECORDS = 1_000_000_000
"""Distance between the first sequence numbers of two consecutive batches. No batch contains more records than this."""

_ANY = "map<string, struct<member0: bigint, member1: double, member2: string, member3: binary>>"
_CAPTURE = f"EnqueuedTimeUtc string, Properties {_ANY}, Body binary"
_ENQUEUED = "coalesce(try_to_timestamp(EnqueuedTimeUtc, 'M/d/yyyy h:mm:ss a'), _metadata.file_modification_time)"
_FROM_CAPTURE = (
    "_metadata.file_path AS file",
    "_metadata.file_block_start AS begin",
    f"unix_micros({_ENQUEUED}) AS received_us",
    "coalesce(try_cast(Properties['k'].member0 as int), 0) AS kind",
    "cast(coalesce(Properties['h'].member2, '{}') as binary) AS http",
    "Body AS body",
)
_FILE_OF_TABLE = ("input_file_name() AS file", "input_file_block_start() AS begin")
_POSTED = "method = 'LOSSES' OR (method = 'POST' AND path RLIKE '/lineage(/batch)?/?([?].*)?$')"
_HTTP_FIELDS = "'id', id, 'path', path, 'application', application_id, 'executor', executor_id"
PLUGIN = ("id", "application_id", "executor_id", "method", "path", "headers", "received_at", "body")
"""Columns of the Spark plugin's table. A table with all of these columns is treated as the plugin's table."""


@dataclass(frozen=True)
class AppendOnlySource:
    """An append-only source.

    name: name of the log that the source's events get in the lake.
    read: returns a streaming DataFrame with the columns of `posted_bodies.RECORD`.
    packed: whether the body of a record may be a list of events or compressed with gzip.
    claims: folder or URI of large bodies, to which records refer; None if there are none.
    """

    name: str
    read: Callable[[SparkSession], DataFrame]
    packed: bool
    claims: str | None = None


def read_capture_files(folder: str, spark: SparkSession) -> DataFrame:
    """Read the files of Event Hubs Capture below a folder, at any depth."""
    reader = spark.readStream.option("recursiveFileLookup", "true").option("maxFilesPerTrigger", BATCH_FILES)
    return reader.format("avro").schema(_CAPTURE).load(folder).selectExpr(*_FROM_CAPTURE)


def read_plugin_table(uri: str, spark: SparkSession) -> DataFrame:
    """Read the events that were posted to the Spark plugin, and the plugin's reports of lost events, from its table."""
    http = f"cast(to_json(map({_HTTP_FIELDS}, 'user_agent', headers['user-agent'])) as binary) AS http"
    rows = _read_table(uri, spark).where(_POSTED)
    return rows.selectExpr(*_FILE_OF_TABLE, "unix_micros(received_at) AS received_us", "0 AS kind", http, "body")


def read_json_table(uri: str, column: str, spark: SparkSession) -> DataFrame:
    """Read events from a column of a Delta table that contains JSON as text or bytes.

    The receipt time of all events is the time of this call.
    """
    received, http = f"{time.time_ns() // 1000}L AS received_us", "cast('{}' as binary) AS http"
    body = f"cast(`{column}` as binary) AS body"
    return (
        _read_table(uri, spark).selectExpr(*_FILE_OF_TABLE, received, "0 AS kind", http, body).where("body IS NOT NULL")
    )


def _read_table(uri: str, spark: SparkSession) -> DataFrame:
    reader = spark.readStream.format("delta").option("skipChangeCommits", "true")
    return reader.option("maxFilesPerTrigger", BATCH_FILES).load(uri)


class AppendOnlySourceIngest:
    """Ingests an append-only source into a lake. The caller must prevent parallel runs."""

    def __init__(self, spark: SparkSession, lake: str, stream: AppendOnlySource):
        self._spark = spark
        self._stream = stream
        self._bronze = SparkBronze(spark, f"{lake}/bronze")
        backfilled = f"{lake}/backfill/{stream.name}"  # checkpoint of `headwater spark backfill`, in earlier releases
        was_before = StoragePlace(spark, backfilled).exists("metadata")
        self._checkpoint = backfilled if was_before else f"{lake}/ingest/{stream.name}/checkpoint"
        self._ingest: BatchIngest | None = None
        self._error: HeadwaterError | None = None
        self._records = 0

    def ingest(self, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Ingest new records. Returns their number as `records`.

        on_progress: called after each batch with the number of records so far. If a batch raises a HeadwaterError, this
        method raises the same error; otherwise, it raises Retry if the stream fails.
        """
        self._on_progress = on_progress
        writer = self._stream.read(self._spark).writeStream.option("checkpointLocation", self._checkpoint)
        try:
            writer.trigger(availableNow=True).foreachBatch(self._ingest_batch).start().awaitTermination()
        except StreamingQueryException as error:
            first = str(error).splitlines()[0]
            raise self._error or Retry(f"The ingest failed: {first}. Run it again.") from error
        return {"records": self._records}

    def _ingest_batch(self, batch: DataFrame, number: int) -> None:
        """Commit a batch to bronze. Spark wraps exceptions of this method, so `_error` keeps the original one."""
        if self._ingest is None:  # Spark creates the checkpoint, whose id is the epoch, before the first batch
            metadata: Any = self._spark.read.json(f"{self._checkpoint}/metadata").first()
            self._ingest = BatchIngest(self._spark, self._bronze, self._stream.name, metadata.id, self._stream.claims)
        found = batch.mapInArrow(unpack_posted_bodies, RECORD) if self._stream.packed else batch
        records = self._with_sequence_numbers(found, number).persist()
        try:
            self._ingest.ingest(records, partition_ranges(records), dict, self._bronze.stored_event_ids)
            self._records += records.count()
        except HeadwaterError as error:
            self._error = error
            raise
        finally:
            records.unpersist()
        self._on_progress(self._records)

    def _with_sequence_numbers(self, batch: DataFrame, number: int) -> DataFrame:
        """Return the records of a batch with sequence numbers, in the order of files and of positions in a file.

        number: the number of the batch. The result does not depend on how Spark splits the files among tasks.
        """
        counts = {row.file: row["count"] for row in batch.groupBy("file").count().collect()}
        begin, begins = number * BATCH_RECORDS, []
        for file in sorted(counts):
            begins.append((file, begin))
            begin += counts[file]
        files = self._spark.createDataFrame(begins, "file string, before long")
        line = F.row_number().over(Window.partitionBy("file").orderBy("begin", "at"))
        numbered = (
            batch.withColumn("at", F.monotonically_increasing_id())
            .withColumn("line", line)
            .join(F.broadcast(files), "file")
        )
        sequence = (F.col("before") + F.col("line")).alias("sequence")
        return numbered.select(F.lit("0").alias("partition"), sequence, "received_us", "kind", "http", "body")
