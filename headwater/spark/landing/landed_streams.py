"""What is only ever added to, into bronze: Event Hubs Capture, the Spark plugin's table, a Delta table of JSON.

Spark's checkpoint knows what is taken and what belongs to one batch; so a record's sequence is made of the number of
its batch and its place in it, and an attempt that was cut off gives every record the same one again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import HeadwaterError, Retry
from headwater.spark.bronze.bronze_writer import SparkBronze
from headwater.spark.bronze.spark_ingest import Ingest, ranges_of
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.landing.posted_bodies import RECORD, unpack

BATCH_FILES = 100
BATCH_RECORDS = 1_000_000_000
"""More than a batch of files can hold: the distance between the sequences of two batches."""

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
_HOW = "'id', id, 'path', path, 'application', application_id, 'executor', executor_id"
PLUGIN = ("id", "application_id", "executor_id", "method", "path", "headers", "received_at", "body")
"""Columns of the plugin's table that are read: by them it is known."""


@dataclass(frozen=True)
class Stream:
    """Something that is only ever added to, the log that it makes up, and where large bodies of it lie.

    read: gives what is new, as `file`, `begin` and a record's columns; packed: bodies may be lists, or gzip.
    """

    name: str
    read: Callable[[SparkSession], DataFrame]
    packed: bool
    claims: str | None = None


def capture(folder: str, spark: SparkSession) -> DataFrame:
    """Read files of Event Hubs Capture, at any depth."""
    reader = spark.readStream.option("recursiveFileLookup", "true").option("maxFilesPerTrigger", BATCH_FILES)
    return reader.format("avro").schema(_CAPTURE).load(folder).selectExpr(*_FROM_CAPTURE)


def plugin_table(uri: str, spark: SparkSession) -> DataFrame:
    """Read the bodies that were posted to the Spark plugin, and its losses."""
    http = f"cast(to_json(map({_HOW}, 'user_agent', headers['user-agent'])) as binary) AS http"
    rows = _table(uri, spark).where(_POSTED)
    return rows.selectExpr(*_FILE_OF_TABLE, "unix_micros(received_at) AS received_us", "0 AS kind", http, "body")


def json_table(uri: str, column: str, spark: SparkSession) -> DataFrame:
    """Read a column of JSON, text or bytes; a table tells no time of its rows, so they are received now."""
    received, http = f"{time.time_ns() // 1000}L AS received_us", "cast('{}' as binary) AS http"
    body = f"cast(`{column}` as binary) AS body"
    return _table(uri, spark).selectExpr(*_FILE_OF_TABLE, received, "0 AS kind", http, body).where("body IS NOT NULL")


def _table(uri: str, spark: SparkSession) -> DataFrame:
    reader = spark.readStream.format("delta").option("skipChangeCommits", "true")
    return reader.option("maxFilesPerTrigger", BATCH_FILES).load(uri)


class LandedStream:
    """Takes a stream into a lake; only one at a time may."""

    def __init__(self, spark: SparkSession, lake: str, stream: Stream):
        """Touch nothing yet."""
        self._spark = spark
        self._stream = stream
        self._bronze = SparkBronze(spark, f"{lake}/bronze")
        backfilled = f"{lake}/backfill/{stream.name}"  # of `headwater spark backfill`, which was before this
        was_before = StoragePlace(spark, backfilled).has("metadata")
        self._checkpoint = backfilled if was_before else f"{lake}/ingest/{stream.name}/checkpoint"
        self._ingest: Ingest | None = None
        self._error: HeadwaterError | None = None
        self._records = 0

    def take(self, seen: Callable[[int], None]) -> dict[str, Any]:
        """Take what is new; seen: told after each batch how many records there were. Raises Retry: run it again."""
        self._seen = seen
        writer = self._stream.read(self._spark).writeStream.option("checkpointLocation", self._checkpoint)
        try:
            writer.trigger(availableNow=True).foreachBatch(self._take).start().awaitTermination()
        except StreamingQueryException as error:
            first = str(error).splitlines()[0]
            raise self._error or Retry(f"The ingest has ended: {first}. Run it again.") from error
        return {"records": self._records}

    def _take(self, batch: DataFrame, number: int) -> None:
        """Bring a batch into the lake; Spark would hide the kind of an error."""
        if self._ingest is None:  # the checkpoint has its name when the first batch begins
            life: Any = self._spark.read.json(f"{self._checkpoint}/metadata").first()
            self._ingest = Ingest(self._spark, self._bronze, self._stream.name, life.id, self._stream.claims)
        found = batch.mapInArrow(unpack, RECORD) if self._stream.packed else batch
        records = self._numbered(found, number).persist()
        try:
            self._ingest.take(records, ranges_of(records), dict, self._bronze.known)
            self._records += records.count()
        except HeadwaterError as error:
            self._error = error
            raise
        finally:
            records.unpersist()
        self._seen(self._records)

    def _numbered(self, batch: DataFrame, number: int) -> DataFrame:
        """Give each record a number by file and place in it, whatever parts Spark has cut the files into."""
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
