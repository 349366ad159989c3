"""Stream a Kafka topic, or an event hub through its Kafka endpoint, into bronze when one parser is not fast enough.

The stream's checkpoint determines the records of a batch, so an interrupted batch is repeated with the same records.
The watermarks of the lake show which of these records are already stored. If the lake lacks records before the batch,
the stream first reads these records again.
"""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import HeadwaterError, Retry
from headwater.intake.event_log import Readers
from headwater.intake.event_log.kafka_clients import KafkaAddress
from headwater.intake.event_log.kafka_reader import KafkaReaders
from headwater.intake.event_log.kafka_records import offset_after
from headwater.intake.parser.dedupe_window import MAX_AGE_US
from headwater.lake.ownership import ROUTES, check_epoch
from headwater.spark.log_ingest.batch_ingest import BatchIngest, PartitionRange, partition_ranges
from headwater.spark.log_ingest.bronze_writer import SparkBronze
from headwater.spark.log_ingest.kafka_options import as_principal, source_options
from headwater.tables import EVENTS

log = logging.getLogger(__name__)

OWNER = ROUTES["spark"]
BATCH_EVENTS = 50_000
MAX_PAUSE_S = 60.0

_RECORDS = (
    "cast(partition as string) AS partition",
    "offset + 1 AS sequence",
    "unix_micros(timestamp) AS received_us",
    "coalesce(try_cast(cast(try_element_at(filter(headers, h -> h.key = 'k'), -1).value as string) as int), 0) AS kind",
    "coalesce(try_element_at(filter(headers, h -> h.key = 'h'), -1).value, cast('{}' as binary)) AS http",
    "value AS body",
)


@dataclass(frozen=True)
class TopicStream:
    """Configuration of a stream from a topic to a lake.

    address: the topic and its servers. lake: folder or URI that contains `bronze`. claims: folder or URI of large
    bodies, or None. batch_events: maximum number of records in a batch. every_s: seconds between two batches, or None
    to stop at the end of the topic. epoch: the epoch of the log as `headwater log show` prints it, or None to get it
    from Kafka. Set it if other services read an event hub by the hub's own protocol.
    """

    address: KafkaAddress
    lake: str
    claims: str | None = None
    batch_events: int = BATCH_EVENTS
    every_s: float | None = None
    epoch: str | None = None


def run_stream(spark: SparkSession, stream: TopicStream) -> None:
    """Stream until the end of the topic, or with `every_s` until the process is stopped.

    With `every_s`, this function logs temporary errors and tries again after 1 s, then after growing pauses of at most
    60 s. Without `every_s`, it raises temporary errors as Retry. Raises WrongSetting if another ingest route owns the
    lake or the topic has been replaced.
    """
    pause_s, stream = 1.0, replace(stream, address=as_principal(stream.address))
    while True:
        try:
            return _run(spark, stream)
        except Retry as error:
            if stream.every_s is None:
                raise
            log.warning("%s", error)
            time.sleep(pause_s)
            pause_s = min(MAX_PAUSE_S, pause_s * 2)


def _run(spark: SparkSession, stream: TopicStream) -> None:
    bronze, readers = SparkBronze(spark, f"{stream.lake}/bronze"), KafkaReaders(stream.address)
    batches = _BatchIngest(spark, stream, bronze, readers)
    records = spark.readStream.format("kafka").options(
        **batches.source_options(), maxOffsetsPerTrigger=stream.batch_events
    )
    writer = records.option("startingOffsets", batches.starting_offsets()).load().selectExpr(*_RECORDS).writeStream
    source = batches.ingest.source_of_partition("")
    writer = writer.option("checkpointLocation", f"{stream.lake}/stream/{source.log}-{source.epoch}")
    once = {"availableNow": True} if stream.every_s is None else {"processingTime": f"{stream.every_s} seconds"}
    try:
        writer.trigger(**once).foreachBatch(batches.ingest_batch).start().awaitTermination()
    except StreamingQueryException as error:
        raise batches.error or Retry(f"The stream failed: {str(error).splitlines()[0]}. Start it again.") from error


class _BatchIngest:
    """Ingests the batches of one streaming query."""

    def __init__(self, spark: SparkSession, stream: TopicStream, bronze: SparkBronze, readers: Readers):
        self._spark = spark
        self._stream = stream
        self._bronze = bronze
        self._readers = readers
        epoch = stream.epoch or readers()[0].source.epoch
        self.ingest = BatchIngest(spark, bronze, stream.address.topic, epoch, stream.claims)
        self.error: HeadwaterError | None = None
        bronze.create(OWNER, epoch)
        bronze.check_owner(OWNER)

    def source_options(self) -> dict[str, str]:
        return source_options(self._stream.address)

    def starting_offsets(self) -> str:
        """Check that the log belongs to the lake. Return the offsets after the lake's watermarks, as JSON for Spark."""
        properties, offsets = self._bronze.properties(), {}
        readers = {self.ingest.source_of_partition(reader.source.partition): reader for reader in self._readers()}
        for source, watermark in self._bronze.watermarks(list(readers)).items():
            reader = readers[source]
            check_epoch(properties, source, tail=reader.tail(), watermark=watermark)
            offsets[source.partition] = max(offset_after(watermark), offset_after(reader.head() - 1))
        return json.dumps({self._stream.address.topic: offsets})

    def ingest_batch(self, batch: DataFrame, _: int) -> None:
        """Ingest a batch. If the lake lacks earlier records, read and ingest these records first.

        Spark wraps exceptions of this method, so the attribute `error` keeps the original exception.
        """
        try:
            self._bronze.check_owner(OWNER)
            ranges = partition_ranges(batch)
            if missing := self._missing_offsets(ranges):
                self._process(self._read(missing))
            self._process(batch, ranges)
        except HeadwaterError as error:
            self.error = error
            raise

    def _process(self, records: DataFrame, ranges: Mapping[str, PartitionRange] | None = None) -> None:
        self.ingest.ingest(records, ranges or partition_ranges(records), self._heads, self._stored_events)

    def _heads(self) -> Mapping[str, int]:
        return {reader.source.partition: reader.head() for reader in self._readers()}

    def _stored_events(self, oldest_us: int) -> DataFrame:
        """Return (`place`, `event_id`) of the stored events of this log, from two days before `oldest_us` on."""
        since = F.timestamp_micros(F.lit(oldest_us - MAX_AGE_US))
        is_recent = (F.col("received_at") >= since) & (F.col("received_date") >= F.to_date(since))
        events = self._bronze.read(EVENTS).where((F.col("log") == self._stream.address.topic) & is_recent)
        return events.select(F.col("partition").alias("place"), "event_id")

    def _missing_offsets(self, ranges: Mapping[str, PartitionRange]) -> dict[str, tuple[int, int]]:
        """Return the offsets (begin, end) of the records between lake and batch that the topic still has, by partition.

        The end is exclusive. Partitions without such records are missing. ranges: the records of the batch.
        """
        found = {}
        heads = self._heads() if ranges else {}
        for source, watermark in self._bronze.watermarks(
            [self.ingest.source_of_partition(name) for name in ranges]
        ).items():
            name, begin = source.partition, max(watermark, heads[source.partition] - 1)
            if begin < (here := ranges[name]).first - 1:
                found[name] = (offset_after(begin), offset_after(here.first - 1))
        return found

    def _read(self, offsets: Mapping[str, tuple[int, int]]) -> DataFrame:
        topic = self._stream.address.topic
        begin, end = ({topic: {name: pair[place] for name, pair in offsets.items()}} for place in (0, 1))
        names = json.dumps({topic: [int(name) for name in offsets]})
        options = {key: value for key, value in self.source_options().items() if key != "subscribe"}
        reader = self._spark.read.format("kafka").options(**options, assign=names)
        return (
            reader.options(startingOffsets=json.dumps(begin), endingOffsets=json.dumps(end))
            .load()
            .selectExpr(*_RECORDS)
        )
