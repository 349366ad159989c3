"""Files into bronze beside the log: Event Hubs Capture (Avro) and folders of NDJSON, each folder a log of its own.

Spark's checkpoint knows which files are taken and which belong to one batch; so a record's sequence is made of the
number of its batch and its place in it, and an attempt that was cut off gives every record the same one again.
"""

import re
import time
from dataclasses import dataclass
from typing import Any, Literal

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from headwater.errors import HeadwaterError, Retry, WrongSetting
from headwater.spark.bronze.bronze_writer import SparkBronze
from headwater.spark.bronze.spark_ingest import Ingest, ranges_of
from headwater.tables import EVENTS

Kind = Literal["capture", "ndjson"]

BATCH_FILES = 100
BATCH_RECORDS = 1_000_000_000
"""More than a batch of files can hold: the distance between the sequences of two batches."""

_ANY = "map<string, struct<member0: bigint, member1: double, member2: string, member3: binary>>"
_CAPTURE = f"EnqueuedTimeUtc string, Properties {_ANY}, Body binary"
_ENQUEUED = "coalesce(try_to_timestamp(EnqueuedTimeUtc, 'M/d/yyyy h:mm:ss a'), _metadata.file_modification_time)"
_RECORDS: dict[Kind, tuple[str, ...]] = {
    "capture": (
        f"unix_micros({_ENQUEUED}) AS received_us",
        "coalesce(try_cast(Properties['k'].member0 as int), 0) AS kind",
        "cast(coalesce(Properties['h'].member2, '{}') as binary) AS http",
        "Body AS body",
    ),
    "ndjson": (
        "unix_micros(_metadata.file_modification_time) AS received_us",
        "0 AS kind",
        "cast('{}' as binary) AS http",
        "cast(value as binary) AS body",
    ),
}
_PLACE = ("_metadata.file_path AS file", "_metadata.file_block_start AS begin")


@dataclass(frozen=True)
class Files:
    """A folder (or URI) of files, at any depth, and the name of the log that they make up; `claims` as of a stream."""

    kind: Kind
    folder: str
    name: str
    claims: str | None = None


def backfill(spark: SparkSession, lake: str, files: Files, *, batch_files: int = BATCH_FILES) -> int:
    """Take the files that were not taken before; an event that the lake holds already becomes a duplicate.

    Returns how many records of this log the lake holds now. Raises WrongSetting; else Retry: run it again.
    """
    if not re.fullmatch(r"[A-Za-z0-9._-]+", files.name):
        raise WrongSetting(f"{files.name!r} is no name of a log. Use letters, digits, dots, dashes and underscores.")
    bronze = SparkBronze(spark, f"{lake}/bronze")
    if not bronze.exists():
        raise WrongSetting(
            f"No bronze in {lake}. Start `headwater up` or `headwater spark stream` once, or check --data."
        )
    taking = _Taking(spark, bronze, files, checkpoint := f"{lake}/backfill/{files.name}")
    writer = _read(spark, files, batch_files).writeStream.option("checkpointLocation", checkpoint)
    try:
        writer.trigger(availableNow=True).foreachBatch(taking.take).start().awaitTermination()
    except StreamingQueryException as error:
        raise taking.error or Retry(f"The backfill has ended: {str(error).splitlines()[0]}. Run it again.") from error
    return bronze.keep_books(files.name, time.time_ns() // 1000)


def _read(spark: SparkSession, files: Files, batch_files: int) -> DataFrame:
    reader = spark.readStream.option("recursiveFileLookup", "true").option("maxFilesPerTrigger", batch_files)
    if files.kind == "capture":
        found = reader.format("avro").schema(_CAPTURE).load(files.folder)
    else:
        found = reader.format("text").load(files.folder).where("trim(value) != ''")
    return found.selectExpr(*_PLACE, *_RECORDS[files.kind])


class _Taking:
    """Takes the batches of one query."""

    def __init__(self, spark: SparkSession, bronze: SparkBronze, files: Files, checkpoint: str):
        self._spark = spark
        self._bronze = bronze
        self._files = files
        self._checkpoint = checkpoint
        self._ingest: Ingest | None = None
        self.error: HeadwaterError | None = None

    def take(self, batch: DataFrame, number: int) -> None:
        """Bring a batch into the lake; Spark would hide the kind of an error."""
        if self._ingest is None:  # the checkpoint has its name when the first batch begins
            life: Any = self._spark.read.json(f"{self._checkpoint}/metadata").first()
            self._ingest = Ingest(self._spark, self._bronze, self._files.name, life.id, self._files.claims)
        records = self._numbered(batch, number).persist()
        try:
            self._ingest.take(records, ranges_of(records), dict, self._stored)
        except HeadwaterError as error:
            self.error = error
            raise
        finally:
            records.unpersist()

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
        return numbered.select(
            F.lit("0").alias("partition"),
            (F.col("before") + F.col("line")).alias("sequence"),
            "received_us",
            "kind",
            "http",
            "body",
        )

    def _stored(self, _: int) -> DataFrame:
        """Give all events of the lake: files are mostly what some log has had before."""
        return self._bronze.read(EVENTS).select(F.lit("0").alias("place"), "event_id")
