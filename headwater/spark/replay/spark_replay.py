"""Replay events with parallel Spark tasks, for a history that is too large for `headwater replay` in one process.

Batches follow the order of event times. Within a batch, one task delivers all events of a run, in order. The job saves
its position after each delivered batch, before the next batch starts. A killed job therefore repeats at most one batch.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from pyspark.errors import PythonException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import WrongSetting
from headwater.common.failpoints import reach_failpoint
from headwater.events.stored_cells import StoredHead
from headwater.events.times import iso_time
from headwater.sinks.control.replay_span import ReplaySpan
from headwater.sinks.interface.options import EventFilter, Sink
from headwater.spark.delta.spark_delta import TableFolder, job_description, spark_settings
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.layer_positions import events_up_to
from headwater.spark.one_pass import hold_lake_lock
from headwater.spark.replay.replay_task import COUNTS_SCHEMA, PLACE, ROWS, ReplayCounts, ReplayTask
from headwater.tables import BRONZE, EVENTS

BATCH_EVENTS = 100_000
"""Maximum number of events in a batch. The job saves its position after each batch."""

BY_TASKS: Mapping[str, int | None] = {"openlineage": None, "kafka": None, "marquez": 1}
"""Types of targets to which tasks can deliver, with the maximum number of parallel tasks (None: no limit).

Tasks cannot deliver to other types, because these convert whole runs or need delta-rs.
"""

_ALL = 1 << 62
_FOLDER = "sinks/replays"
_HEAD = {
    "received_us": "unix_micros(received_at)",
    "kind": "event_kind",
    "state": "event_type",
    "size": "octet_length(body)",
}
_SMALL = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "512",  # a body may be large
    "spark.sql.shuffle.partitions": "1",  # for the driver's aggregates; `streams` sets the partitions of events
}

log = logging.getLogger(__name__)

_ORDER = ("event_us", "received_us", "incarnation", "partition", "sequence")


class OrderKey(NamedTuple):
    """Sort key of an event. A replay sends events in this order. Times are in us, UTC."""

    event_us: int
    received_us: int
    incarnation: str
    partition: str
    sequence: int


class ReplayPosition(msgspec.Struct, frozen=True, rename={"after": "behind"}):
    """The saved position of a replay.

    heads: (log, epoch, partition, newest sequence number) of each partition when the replay began. after: key of the
    last event in the last delivered batch, or None before the first batch.
    """

    heads: list[tuple[str, str, str, int]]
    after: OrderKey | None = None


class SparkReplay:
    """A replay of stored events to one target."""

    def __init__(
        self, spark: SparkSession, lake: str, sink: Sink, span: ReplaySpan, streams: int | None = None
    ) -> None:
        """Configure a replay.

        lake: folder or URI that contains `bronze`. sink: the target and its options. span: selects the events.
        streams: number of parallel tasks, by default Spark's default parallelism. Raises WrongSetting if tasks cannot
        deliver to the target.
        """
        kind = sink.options.type
        if kind not in BY_TASKS or getattr(sink.options, "shape", "events") != "events":
            raise WrongSetting(
                f"Spark tasks can deliver only single events, and only to {', '.join(BY_TASKS)}. For this target, use "
                "`headwater replay`."
            )
        self._spark = spark
        self._lake = lake
        self._sink = sink
        self._span = span
        self._streams = BY_TASKS[kind] or streams or spark.sparkContext.defaultParallelism
        self.name = sink.name
        self._folder = StoragePlace(spark, f"{lake}/{_FOLDER}")
        self._positions = StoragePlace(spark, f"{lake}/{_FOLDER}/{sink.name}")

    def preview(self) -> dict[str, Any]:
        """Convert the events without sending them. Returns the counts and the first and last time of the events."""
        saved = self._saved_position()
        counts = self._deliver(saved, _ALL, dry_run=True)
        return {
            **self._summary(),
            "would_send": counts.sent, "bytes": counts.bytes, "unfit": counts.refused, "left_out": counts.left_out,
            "first": iso_time(counts.first_us), "last": iso_time(counts.last_us), "goes_on": saved is not None,
        }  # fmt: skip

    def run(self, batch_events: int = BATCH_EVENTS) -> dict[str, Any]:
        """Send the events and return the counts. If the target is unavailable, wait for it without a time limit.

        If the same replay was interrupted, this call continues after the last delivered batch. If it was completed,
        this call starts from the beginning. Raises LakeUnavailable if the same replay is running in another process.
        """
        with hold_lake_lock(self._spark, self._lake, f"{_FOLDER}/{self._sink.name}.lock"):
            saved = self._saved_position()
            counts = self._deliver(saved, batch_events, dry_run=False)
            self._folder.remove(self._sink.name)
        return {
            **self._summary(),
            "delivered": counts.sent, "refused": counts.refused, "left_out": counts.left_out, "reasons": counts.reasons,
            "went_on": saved is not None,
        }  # fmt: skip

    def _summary(self) -> dict[str, Any]:
        return {"target": self._sink.options.type, "selected_by": self._span.by, "order": "event time"}

    def _deliver(self, saved: ReplayPosition | None, batch_events: int, *, dry_run: bool) -> ReplayCounts:
        """Deliver the events after a saved position in batches. Save the position after each batch unless `dry_run`."""
        bronze = TableFolder(self._spark, f"{self._lake}/bronze", BRONZE)
        if not bronze.exists(EVENTS):
            raise WrongSetting(f"{bronze.root} has no table `events`. Pass the folder or URI that contains `bronze`.")
        events = bronze.read(EVENTS)
        counts = ReplayCounts()
        with spark_settings(self._spark, _SMALL), job_description(self._spark, "replay"):
            at = saved or ReplayPosition(_newest_sequences(events))
            chosen = self._events_in_range(events, at)
            while ends := _end_of_batch(chosen, at.after, batch_events):
                counts.add(self._deliver_batch(_events_between(chosen, at.after, ends), dry_run=dry_run))
                at = ReplayPosition(at.heads, ends)
                if not dry_run:
                    reach_failpoint("spark.replayed")
                    self._save_position(at)
                log.info("Replay: %d sent, %d refused, %d left out.", counts.sent, counts.refused, counts.left_out)
        return counts

    def _events_in_range(self, events: DataFrame, at: ReplayPosition) -> DataFrame:
        """Return the events in the time range up to the heads, with columns for `OrderKey` and `selected_us`."""
        heads = {(log, epoch, partition): sequence for log, epoch, partition, sequence in at.heads}
        ordered = (
            events_up_to(events, heads)
            .withColumn("event_us", F.unix_micros(F.coalesce("event_time", "received_at")))
            .withColumn("received_us", F.unix_micros("received_at"))
        )
        selected_us = F.col("received_us" if self._span.by == "receipt" else "event_us")
        if self._span.since_us is not None:
            ordered = ordered.where(selected_us >= self._span.since_us)
        if self._span.until_us is not None:
            ordered = ordered.where(selected_us < self._span.until_us)
        return ordered.withColumn("selected_us", selected_us)

    def _deliver_batch(self, batch: DataFrame, *, dry_run: bool) -> ReplayCounts:
        """Deliver a batch in parallel tasks and add up their counts."""
        rate = self._sink.options.rate
        task = ReplayTask(self._sink, rate / self._streams if rate else None, dry_run)
        run_or_job = F.coalesce("run_id", F.concat_ws("\0", "job_namespace", "job_name"))
        rows = _rows_with_bodies(batch, self._sink.options.only).repartition(self._streams, run_or_job)
        counts = ReplayCounts()
        try:
            found = rows.sortWithinPartitions(*_ORDER).mapInArrow(task, COUNTS_SCHEMA).collect()
        except PythonException as error:
            if match := re.search(r"headwater\.common\.errors\.\w+: (.+)", str(error)):
                raise WrongSetting(match[1]) from None
            raise
        for row in found:
            counts.add(ReplayCounts(**row.asDict()))
        return counts

    def _saved_position(self) -> ReplayPosition | None:
        """Return the position of an interrupted replay, or None if there is none. Ignores incomplete files."""
        for name in sorted(self._positions.names(), reverse=True):
            try:
                return msgspec.json.decode(self._positions.read(name), type=ReplayPosition)
            except msgspec.DecodeError:
                continue
        return None

    def _save_position(self, at: ReplayPosition) -> None:
        """Write a position to a new file, then delete the previous file."""
        before = sorted(self._positions.names())
        number = int(before[-1]) + 1 if before else 1
        self._positions.write(f"{number:010}", msgspec.json.encode(at).decode())
        for name in before:
            self._positions.remove(name)


def _newest_sequences(events: DataFrame) -> list[tuple[str, str, str, int]]:
    """Return (log, epoch, partition, newest sequence number) of each partition in `events`."""
    found = events.groupBy(*PLACE).agg(F.max("sequence").alias("head")).collect()
    return [(row.log, row.incarnation, row.partition, row.head) for row in found]


def _end_of_batch(chosen: DataFrame, after: OrderKey | None, limit: int) -> OrderKey | None:
    """Return the last key of the next batch, which has at most `limit` events. Returns None if no events follow.

    after: the key after which the batch begins, or None to begin with the first event.
    """
    keys = chosen.select(F.struct(*_ORDER).alias("key"))
    remaining = keys.where(F.col("key") > _key_literal(after)) if after else keys
    if limit < _ALL:
        remaining = remaining.orderBy("key").limit(limit)
    (row,) = remaining.agg(F.max("key").alias("last")).collect()
    return OrderKey(*row.last) if row.last else None


def _events_between(chosen: DataFrame, after: OrderKey | None, ends: OrderKey) -> DataFrame:
    key = F.struct(*_ORDER)
    upto = chosen.where((F.col("event_us") <= ends.event_us) & (key <= _key_literal(ends)))
    return upto.where((F.col("event_us") >= after.event_us) & (key > _key_literal(after))) if after else upto


def _key_literal(key: OrderKey) -> Column:
    """Return a key as a struct, which Spark compares field by field."""
    typed = ((name, value, "long" if isinstance(value, int) else "string") for name, value in key._asdict().items())
    return F.struct(*(F.lit(value).cast(kind).alias(name) for name, value, kind in typed))


def _rows_with_bodies(events: DataFrame, only: EventFilter) -> DataFrame:
    """Return the columns `ROWS` and `event_us`. A UDF removes the bodies of events that the sink's filter excludes.

    Spark applies the UDF before it shuffles the rows.
    """
    head = [F.expr(_HEAD.get(name, name)).alias(name) for name in StoredHead._fields]
    rows = events.select(*PLACE, *_ORDER[:1], "selected_us", *head, "body")
    if only == EventFilter.model_validate({}):
        return rows
    wanted = F.udf(lambda *cells: only.matches(StoredHead(*cells)), "boolean")
    body = F.when(wanted(*StoredHead._fields), F.col("body"))
    return rows.withColumn("body", body).select(*ROWS, "event_us")
