"""`headwater replay` for history that is too large for one process: tasks of Spark deliver, each run by one of them.

Batch by batch, in the order of event times, events are spread by run over tasks that send side by side, each in order.
A batch begins when the one before is settled, and its place is kept behind it: a job that was killed repeats no more
than what it was at.
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
from headwater.common.failpoints import reach
from headwater.events.stored_cells import StoredHead
from headwater.events.times import iso
from headwater.sinks.contract.options import EventFilter, Sink
from headwater.sinks.operating.replay_span import ReplaySpan
from headwater.spark.delta.spark_delta import TableFolder, described, settings
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.layer_positions import within
from headwater.spark.one_pass import alone
from headwater.spark.replay.replay_task import PLACE, ROWS, TOLD, ReplayTask, Told
from headwater.tables import BRONZE, EVENTS

BATCH_EVENTS = 100_000
"""Events between two places that are kept."""

BY_TASKS: Mapping[str, int | None] = {"openlineage": None, "kafka": None, "marquez": 1}
"""Targets that tasks deliver to, and how many tasks at once may; the others convert whole runs, or need delta-rs."""

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
    "spark.sql.shuffle.partitions": "1",  # of what the driver asks; events are spread by streams
}

log = logging.getLogger(__name__)

_ORDER = ("event_us", "received_us", "incarnation", "partition", "sequence")


class OrderKey(NamedTuple):
    """The position of an event in the order of event times; times in us, UTC."""

    event_us: int
    received_us: int
    incarnation: str
    partition: str
    sequence: int


class ReplayPlace(msgspec.Struct, frozen=True):
    """How far a replay is.

    heads: newest sequence of each partition as it began; behind: None before the first batch.
    """

    heads: list[tuple[str, str, str, int]]
    behind: OrderKey | None = None


class SparkReplay:
    """One replay, to be looked at or run."""

    def __init__(
        self, spark: SparkSession, lake: str, sink: Sink, span: ReplaySpan, streams: int | None = None
    ) -> None:
        """Touch nothing yet. lake: folder or URI that holds `bronze`; streams: tasks at once, all that there are.

        Raises WrongSetting for targets that tasks cannot deliver to.
        """
        kind = sink.options.type
        if kind not in BY_TASKS or getattr(sink.options, "shape", "events") != "events":
            raise WrongSetting(
                f"Tasks of Spark deliver single events, to {', '.join(BY_TASKS)}: use `headwater replay`."
            )
        self._spark = spark
        self._lake = lake
        self._sink = sink
        self._span = span
        self._streams = BY_TASKS[kind] or streams or spark.sparkContext.defaultParallelism
        self.name = sink.name
        self._folder = StoragePlace(spark, f"{lake}/{_FOLDER}")
        self._places = StoragePlace(spark, f"{lake}/{_FOLDER}/{sink.name}")

    def look(self) -> dict[str, Any]:
        """Return the payloads without sending them."""
        kept = self._kept()
        told = self._through(kept, _ALL, looks=True)
        return {
            **self._said(),
            "would_send": told.sent, "bytes": told.bytes, "unfit": told.refused, "left_out": told.left_out,
            "first": iso(told.first_us), "last": iso(told.last_us), "goes_on": kept is not None,
        }  # fmt: skip

    def run(self, batch_events: int = BATCH_EVENTS) -> dict[str, Any]:
        """Send it; waits for the target as long as it takes. Returns what became of it.

        Cut off, the same replay goes on behind the last batch; once it has ended, it begins anew.
        Raises LakeUnavailable where the same one is at work.
        """
        with alone(self._spark, self._lake, f"{_FOLDER}/{self._sink.name}.lock"):
            kept = self._kept()
            told = self._through(kept, batch_events, looks=False)
            self._folder.remove(self._sink.name)
        return {
            **self._said(),
            "delivered": told.sent, "refused": told.refused, "left_out": told.left_out, "reasons": told.reasons,
            "went_on": kept is not None,
        }  # fmt: skip

    def _said(self) -> dict[str, Any]:
        return {"target": self._sink.options.type, "selected_by": self._span.by, "order": "event time"}

    def _through(self, kept: ReplayPlace | None, batch_events: int, *, looks: bool) -> Told:
        """Let tasks take what lies behind a place, batch by batch; each one's place is kept behind it."""
        bronze = TableFolder(self._spark, f"{self._lake}/bronze", BRONZE)
        if not bronze.exists(EVENTS):
            raise WrongSetting(f"No table `events` in {bronze.root}. Name the lake's folder.")
        events = bronze.read(EVENTS)
        told = Told()
        with settings(self._spark, _SMALL), described(self._spark, "replay"):
            at = kept or ReplayPlace(_heads(events))
            chosen = self._chosen(events, at)
            while ends := _end_of_batch(chosen, at.behind, batch_events):
                told.add(self._told(_between(chosen, at.behind, ends), looks=looks))
                at = ReplayPlace(at.heads, ends)
                if not looks:
                    reach("spark.replayed")
                    self._keep(at)
                log.info("Replay: %d sent, %d refused, %d left out.", told.sent, told.refused, told.left_out)
        return told

    def _chosen(self, events: DataFrame, at: ReplayPlace) -> DataFrame:
        """Return the selected events up to the heads, with the columns of their order."""
        heads = {(log, epoch, partition): sequence for log, epoch, partition, sequence in at.heads}
        ordered = (
            within(events, heads)
            .withColumn("event_us", F.unix_micros(F.coalesce("event_time", "received_at")))
            .withColumn("received_us", F.unix_micros("received_at"))
        )
        selected_us = F.col("received_us" if self._span.by == "receipt" else "event_us")
        if self._span.since_us is not None:
            ordered = ordered.where(selected_us >= self._span.since_us)
        if self._span.until_us is not None:
            ordered = ordered.where(selected_us < self._span.until_us)
        return ordered.withColumn("selected_us", selected_us)

    def _told(self, batch: DataFrame, *, looks: bool) -> Told:
        """Spread a batch over tasks and let them work."""
        rate = self._sink.options.rate
        task = ReplayTask(self._sink, rate / self._streams if rate else None, looks)
        run_or_job = F.coalesce("run_id", F.concat_ws("\0", "job_namespace", "job_name"))
        rows = _rows(batch, self._sink.options.only).repartition(self._streams, run_or_job)
        told = Told()
        try:
            found = rows.sortWithinPartitions(*_ORDER).mapInArrow(task, TOLD).collect()
        except PythonException as error:
            if said := re.search(r"headwater\.common\.errors\.\w+: (.+)", str(error)):
                raise WrongSetting(said[1]) from None
            raise
        for row in found:
            told.add(Told(**row.asDict()))
        return told

    def _kept(self) -> ReplayPlace | None:
        """Return how far a replay that was cut off is, None where there is none; a half-written file counts not."""
        for name in sorted(self._places.names(), reverse=True):
            try:
                return msgspec.json.decode(self._places.read(name), type=ReplayPlace)
            except msgspec.DecodeError:
                continue
        return None

    def _keep(self, at: ReplayPlace) -> None:
        """Write a position to a new file, and then delete the previous file."""
        before = sorted(self._places.names())
        number = int(before[-1]) + 1 if before else 1
        self._places.write(f"{number:010}", msgspec.json.encode(at).decode())
        for name in before:
            self._places.remove(name)


def _heads(events: DataFrame) -> list[tuple[str, str, str, int]]:
    """Return the newest sequence of each partition; collects a row for each."""
    found = events.groupBy(*PLACE).agg(F.max("sequence").alias("head")).collect()
    return [(row.log, row.incarnation, row.partition, row.head) for row in found]


def _end_of_batch(chosen: DataFrame, behind: OrderKey | None, most: int) -> OrderKey | None:
    """Return where a batch of so many events behind a place ends, None where there are none; collects one row."""
    keys = chosen.select(F.struct(*_ORDER).alias("key"))
    left = keys.where(F.col("key") > _literal(behind)) if behind else keys
    if most < _ALL:
        left = left.orderBy("key").limit(most)
    (row,) = left.agg(F.max("key").alias("last")).collect()
    return OrderKey(*row.last) if row.last else None


def _between(chosen: DataFrame, behind: OrderKey | None, ends: OrderKey) -> DataFrame:
    key = F.struct(*_ORDER)
    upto = chosen.where((F.col("event_us") <= ends.event_us) & (key <= _literal(ends)))
    return upto.where((F.col("event_us") >= behind.event_us) & (key > _literal(behind))) if behind else upto


def _literal(key: OrderKey) -> Column:
    """Return a key as Spark compares it: column by column."""
    typed = ((name, value, "long" if isinstance(value, int) else "string") for name, value in key._asdict().items())
    return F.struct(*(F.lit(value).cast(kind).alias(name) for name, value, kind in typed))


def _rows(events: DataFrame, only: EventFilter) -> DataFrame:
    """Return what tasks read; the filter is asked in Python, as every sink's is, before bodies travel."""
    head = [F.expr(_HEAD.get(name, name)).alias(name) for name in StoredHead._fields]
    rows = events.select(*PLACE, *_ORDER[:1], "selected_us", *head, "body")
    if only == EventFilter.model_validate({}):
        return rows
    wanted = F.udf(lambda *cells: only.matches(StoredHead(*cells)), "boolean")
    body = F.when(wanted(*StoredHead._fields), F.col("body"))
    return rows.withColumn("body", body).select(*ROWS, "event_us")
