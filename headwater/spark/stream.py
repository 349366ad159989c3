"""Structured Streaming from Kafka, or an event hub at its Kafka endpoint, into bronze: where one parser is too few.

The checkpoint of a stream decides what a batch is, so that an attempt that was cut off is made again over the same
records; the lake decides what of it is done. A range that the lake lacks is read from the topic before the batch.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from headwater.eventlog import Readers
from headwater.eventlog.kafka_clients import KafkaAddress
from headwater.eventlog.kafka_reader import KafkaReaders
from headwater.eventlog.kafka_records import offset_behind
from headwater.lake.ownership import check_life
from headwater.parser.window import MAX_AGE_US
from headwater.spark.bronze import SparkBronze
from headwater.spark.ingest import Ingest, Range, ranges_of
from headwater.spark.kafka_options import source_options
from headwater.tables import EVENTS

OWNER = "spark/stream"
BATCH_EVENTS = 50_000
_HAND_OVER = "Stop that one, then hand over with `headwater log new-incarnation --route spark`."

_RECORDS = (
    "cast(partition as string) AS partition",
    "offset + 1 AS sequence",
    "unix_micros(timestamp) AS received_us",
    "coalesce(cast(cast(try_element_at(filter(headers, h -> h.key = 'k'), -1).value as string) as int), 0) AS kind",
    "coalesce(cast(try_element_at(filter(headers, h -> h.key = 'h'), -1).value as string), '{}') AS http",
    "value AS body",
)


@dataclass(frozen=True)
class Stream:
    """A stream to be: which topic, which lake.

    lake: folder or URI that holds `bronze`; claims: folder or URI of large bodies; batch_events: most of a batch;
    every_s: seconds between two batches, None for: until caught up.
    """

    address: KafkaAddress
    lake: str
    claims: str | None = None
    batch_events: int = BATCH_EVENTS
    every_s: float | None = None


def start(spark: SparkSession, stream: Stream) -> StreamingQuery:
    """Start it; the query ends with an error that the next start gets over, unless it is a WrongSetting.

    Raises LogUnavailable, and WrongSetting if another route owns the lake or the topic is another one now.
    """
    bronze = SparkBronze(spark, f"{stream.lake}/bronze")
    readers = KafkaReaders(stream.address)
    source = readers()[0].source
    bronze.create(OWNER, source.incarnation)
    bronze.check_owner(OWNER, _HAND_OVER)
    batches = _Batches(
        spark, stream, bronze, readers, Ingest(spark, bronze, source.log, source.incarnation, stream.claims)
    )
    records = spark.readStream.format("kafka").options(**batches.options(), maxOffsetsPerTrigger=stream.batch_events)
    writer = records.option("startingOffsets", batches.starting()).load().selectExpr(*_RECORDS).writeStream
    writer = writer.option("checkpointLocation", f"{stream.lake}/stream/{source.log}-{source.incarnation}")
    once = {"availableNow": True} if stream.every_s is None else {"processingTime": f"{stream.every_s} seconds"}
    return writer.trigger(**once).foreachBatch(batches.take).start()


class _Batches:
    """Takes the batches of one query."""

    def __init__(self, spark: SparkSession, stream: Stream, bronze: SparkBronze, readers: Readers, ingest: Ingest):
        self._spark = spark
        self._stream = stream
        self._bronze = bronze
        self._readers = readers
        self._ingest = ingest

    def options(self) -> dict[str, str]:
        return source_options(self._stream.address)

    def starting(self) -> str:
        """Check that log and lake belong together, and return where the lake is."""
        properties, offsets, readers = self._bronze.properties(), {}, self._readers()
        watermarks = self._bronze.watermarks([reader.source for reader in readers])
        for reader in readers:
            watermark = watermarks[reader.source]
            check_life(properties, reader.source, tail=reader.tail(), watermark=watermark)
            offsets[reader.source.partition] = max(offset_behind(watermark), offset_behind(reader.head() - 1))
        return json.dumps({self._stream.address.topic: offsets})

    def take(self, batch: DataFrame, _: int) -> None:
        """Bring a batch into the lake, after what the lake lacks before it."""
        self._bronze.check_owner(OWNER, _HAND_OVER)
        ranges = ranges_of(batch)
        if lacking := self._lacking(ranges):
            self._take(self._read(lacking))
        self._take(batch, ranges)

    def _take(self, records: DataFrame, ranges: Mapping[str, Range] | None = None) -> None:
        self._ingest.take(records, ranges or ranges_of(records), self._heads, self._stored)

    def _heads(self) -> Mapping[str, int]:
        return {reader.source.partition: reader.head() for reader in self._readers()}

    def _stored(self, oldest_us: int) -> DataFrame:
        """Give the events that count as seen: of this log, of the two days before a batch."""
        since = F.timestamp_micros(F.lit(oldest_us - MAX_AGE_US))
        seen = (F.col("received_at") >= since) & (F.col("received_date") >= F.to_date(since))
        events = self._bronze.read(EVENTS).where((F.col("log") == self._stream.address.topic) & seen)
        return events.select(F.col("partition").alias("place"), "event_id")

    def _lacking(self, ranges: Mapping[str, Range]) -> dict[str, tuple[int, int]]:
        """Return which offsets, the second left out, are neither in the lake nor in a batch, but still in the topic."""
        found = {}
        heads = self._heads() if ranges else {}
        for source, watermark in self._bronze.watermarks([self._ingest.source(name) for name in ranges]).items():
            name, begin = source.partition, max(watermark, heads[source.partition] - 1)
            if begin < (here := ranges[name]).first - 1:
                found[name] = (offset_behind(begin), offset_behind(here.first - 1))
        return found

    def _read(self, offsets: Mapping[str, tuple[int, int]]) -> DataFrame:
        topic = self._stream.address.topic
        begin, end = ({topic: {name: pair[place] for name, pair in offsets.items()}} for place in (0, 1))
        names = json.dumps({topic: [int(name) for name in offsets]})
        options = {key: value for key, value in self.options().items() if key != "subscribe"}
        reader = self._spark.read.format("kafka").options(**options, assign=names)
        return (
            reader.options(startingOffsets=json.dumps(begin), endingOffsets=json.dumps(end))
            .load()
            .selectExpr(*_RECORDS)
        )
