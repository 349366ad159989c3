"""`headwater replay` for history that is too large for one process: tasks of Spark deliver, each run by one of them.

Batch by batch events are spread by run over tasks that send side by side, each in order. A batch begins when the one
before is settled, and its place is kept behind it: a job that was killed repeats no more than what it was at.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from pyspark.errors import PythonException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.errors import WrongSetting
from headwater.events.stored_cells import StoredHead
from headwater.events.times import iso
from headwater.failpoints import reach
from headwater.sinks.contract.sink_options import Only, Sink
from headwater.sinks.operating.replay_span import ReplaySpan
from headwater.spark.delta.spark_delta import TableFolder, described, settings
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.layer_positions import LayerPosition, Source, beyond, limited, within
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

Places = dict[Source, int]
_Kept = list[tuple[str, str, str, int]]


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
        """Return what would be sent; nothing is."""
        kept = self._kept()
        told = self._through(dict(kept or {}), _ALL, looks=True)
        return {
            "target": self._sink.options.type,
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
            told = self._through(dict(kept or {}), batch_events, looks=False)
            self._folder.remove(self._sink.name)
        return {
            "target": self._sink.options.type,
            "delivered": told.sent, "refused": told.refused, "left_out": told.left_out, "reasons": told.reasons,
            "went_on": kept is not None,
        }  # fmt: skip

    def _through(self, places: Places, batch_events: int, *, looks: bool) -> Told:
        """Let tasks take what lies behind `places`, batch by batch; each one's place is kept behind it."""
        told = Told()
        with settings(self._spark, _SMALL), described(self._spark, "replay"):
            for batch, ends in self._batches(places, batch_events):
                told.add(self._told(batch, looks=looks))
                places |= ends
                if not looks:
                    reach("spark.replayed")
                    self._keep(places)
                log.info("Replay: %d sent, %d refused, %d left out.", told.sent, told.refused, told.left_out)
        return told

    def _batches(self, places: Places, batch_events: int) -> Iterator[tuple[DataFrame, Places]]:
        """Yield what lies behind `places`, which moves on meanwhile: epochs of the log one after the other."""
        bronze = TableFolder(self._spark, f"{self._lake}/bronze", BRONZE)
        if not bronze.exists(EVENTS):
            raise WrongSetting(f"No table `events` in {bronze.root}. Name the lake's folder.")
        events = bronze.read(EVENTS)
        for epoch, (starts, ends) in self._span_of(events).items():
            of_epoch = within(events.where(F.col("incarnation") == epoch), ends)
            while True:
                behind = LayerPosition(sequences={**starts, **{each: places[each] for each in ends if each in places}})
                batch, until, _, _ = limited(of_epoch.where(beyond(behind)), batch_events)
                if not until:
                    break
                yield batch, until

    def _span_of(self, events: DataFrame) -> dict[str, tuple[Places, Places]]:
        """Return by epoch, the oldest first, between which places of its partitions the span lies."""
        since_us, until_us = self._span.since_us, self._span.until_us
        start = _newest_before(since_us) if since_us is not None else F.lit(0)
        end = _newest_before(until_us) if until_us is not None else F.max("sequence")
        bounds = (F.min("received_at").alias("first"), start.alias("start"), end.alias("end"))
        found: dict[str, tuple[Places, Places]] = {}
        for row in events.groupBy(*PLACE).agg(*bounds).orderBy("first", "partition").collect():
            starts, ends = found.setdefault(row.incarnation, ({}, {}))
            source = (row.log, row.incarnation, row.partition)
            starts[source], ends[source] = row.start, row.end
        return found

    def _told(self, batch: DataFrame, *, looks: bool) -> Told:
        """Spread a batch over tasks and let them work."""
        rate = self._sink.options.rate
        task = ReplayTask(self._sink, rate / self._streams if rate else None, looks)
        run_or_job = F.coalesce("run_id", F.concat_ws("\0", "job_namespace", "job_name"))
        rows = _rows(batch, self._sink.options.only).repartition(self._streams, run_or_job)
        told = Told()
        try:
            found = rows.sortWithinPartitions("partition", "sequence").mapInArrow(task, TOLD).collect()
        except PythonException as error:
            if said := re.search(r"headwater\.errors\.\w+: (.+)", str(error)):
                raise WrongSetting(said[1]) from None
            raise
        for row in found:
            told.add(Told(**row.asDict()))
        return told

    def _kept(self) -> Places | None:
        """Return how far a replay that was cut off is, None where there is none; a half-written file counts not."""
        for name in sorted(self._places.names(), reverse=True):
            try:
                kept = msgspec.json.decode(self._places.read(name), type=_Kept)
            except msgspec.DecodeError:
                continue
            return {(log, epoch, partition): sequence for log, epoch, partition, sequence in kept}
        return None

    def _keep(self, places: Places) -> None:
        """Write places into a file of their own, behind which the one before goes."""
        before = sorted(self._places.names())
        number = int(before[-1]) + 1 if before else 1
        self._places.write(f"{number:010}", msgspec.json.encode([(*each, to) for each, to in places.items()]).decode())
        for name in before:
            self._places.remove(name)


def _newest_before(received_us: int) -> Column:
    return F.max(F.when(F.unix_micros("received_at") < received_us, F.col("sequence")).otherwise(0))


def _rows(events: DataFrame, only: Only) -> DataFrame:
    """Return what tasks read; the filter is asked in Python, as every sink's is, before bodies travel."""
    head = [F.expr(_HEAD.get(name, name)).alias(name) for name in StoredHead._fields]
    rows = events.select(*PLACE, *head, "body")
    if only == Only.model_validate({}):
        return rows
    wanted = F.udf(lambda *cells: only.wants(StoredHead(*cells)), "boolean")
    body = F.when(wanted(*StoredHead._fields), F.col("body"))
    return rows.withColumn("body", body).select(*ROWS)
