"""A batch of a log's records into bronze, each once: the parser's order of commits, with Spark's hands."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from headwater.errors import LogUnavailable
from headwater.events.position import Source
from headwater.spark.bronze import CONTENTS, ONE_ROW_EACH, SparkBronze
from headwater.spark.bronze_rows import ROWS, BronzeRows, Start
from headwater.spark.claims import with_claims
from headwater.tables import DUPLICATES, EVENTS, Table

MAX_HASHES = 500_000
WRITERS = 4
"""Partitions whose commits are made side by side."""

Stored = Callable[[int], DataFrame]
"""Gives, for the time of the oldest record (us), the events that may come again: `place`, `event_id`."""


@dataclass(frozen=True)
class Range:
    """What a batch holds of one partition: first and last sequence, the oldest record's time (us), keys of claims."""

    first: int
    last: int
    received_us: int
    claims: frozenset[bytes]


def ranges_of(records: DataFrame) -> dict[str, Range]:
    """Look through a batch of `RECORDS` without its `claim`."""
    found = records.groupBy("partition").agg(
        F.min("sequence").alias("first"),
        F.max("sequence").alias("last"),
        F.min("received_us").alias("received_us"),
        F.collect_set(F.when(F.col("kind") == 1, F.col("body"))).alias("claims"),
    )
    return {
        row.partition: Range(row["first"], row["last"], row.received_us, frozenset(map(bytes, row.claims)))
        for row in found.collect()
    }


class Ingest:
    """Takes batches of one life of one log."""

    def __init__(self, spark: SparkSession, bronze: SparkBronze, log: str, incarnation: str, claims: str | None):
        """Touch nothing yet. claims: folder or URI of large bodies, which Spark can read."""
        self._spark = spark
        self._bronze = bronze
        self._log = log
        self._incarnation = incarnation
        self._claims = claims
        self._hashes: set[bytes] | None = None

    def source(self, partition: str) -> Source:
        """Return the source of a partition."""
        return Source(self._log, self._incarnation, partition)

    def take(
        self, records: DataFrame, ranges: Mapping[str, Range], heads: Callable[[], Mapping[str, int]], stored: Stored
    ) -> None:
        """Commit what is new of a batch, partition by partition, `events` last: its transaction is the watermark.

        heads: asks which sequence each partition of the log begins with; none where numbers are left out at will.
        """
        sources = {name: self.source(name) for name in ranges}
        marks = {name: self._bronze.watermark(source) for name, source in sources.items()}
        new = {name: found for name, found in ranges.items() if found.last > marks[name]}
        if not new:
            return
        left = {name: self._bronze.cut_off(sources[name], marks[name]) for name in new}
        before = heads()
        starts = {
            name: Start(marks[name], before.get(name), left[name]["rejected"] | left[name]["duplicates"])
            for name in new
        }
        rows = self._rows(records.where(F.col("partition").isin(list(new))), new, starts)
        try:
            there = {(row.place, row.table) for row in rows.select("place", "table").distinct().collect()}
            self._check_kept(before, heads(), marks)
            oldest = min(found.received_us for found in new.values())
            self._commit(rows, there, {sources[name]: (new[name].last, left[name]) for name in new}, stored(oldest))
        finally:
            rows.unpersist()

    def _rows(self, records: DataFrame, new: Mapping[str, Range], starts: Mapping[str, Start]) -> DataFrame:
        if self._hashes is None:
            self._hashes = self._bronze.hashes(MAX_HASHES)
        keys = frozenset[bytes]().union(*(found.claims for found in new.values()))
        known = self._spark.sparkContext.broadcast(frozenset(self._hashes))
        step = BronzeRows(self._log, self._incarnation, starts, known)
        return with_claims(self._spark, records, self._claims, keys).mapInArrow(step, ROWS).persist()

    def _check_kept(self, before: Mapping[str, int], after: Mapping[str, int], marks: Mapping[str, int]) -> None:
        """Raise LogUnavailable if retention has overtaken the batch while it was read: what is missing is no hole."""
        for name, head in after.items():
            if head > max(before[name], marks.get(name, head) + 1):
                raise LogUnavailable(
                    f"The log has let go of records of partition {name} while they were read. They are read again; "
                    "lengthen its retention."
                )

    def _commit(
        self,
        rows: DataFrame,
        there: Collection[tuple[str, str]],
        parts: Mapping[Source, tuple[int, Mapping[str, Collection[int]]]],
        stored: DataFrame,
    ) -> None:
        self._commit_contents(rows, {table for _, table in there})
        events = _of_table(rows, EVENTS)
        repeats = _repeats(events, stored).persist()

        def write(source: Source) -> None:
            last, left = parts[source]
            for table in ONE_ROW_EACH:
                found = _of_table(rows, table)
                if table is DUPLICATES:
                    again = events.join(F.broadcast(repeats), ["place", "number"], "left_semi")
                    found = found.unionByName(again.select(*found.columns))
                found = _missing(found, source, left[table.name])
                if (source.partition, table.name) in there or (table is DUPLICATES and repeats_in[source.partition]):
                    self._bronze.append(table, source, found, last)
            fresh = events.join(F.broadcast(repeats), ["place", "number"], "left_anti")
            self._bronze.append(EVENTS, source, _missing(fresh, source, ()), last)

        try:
            repeats_in = Counter({row.place: row["count"] for row in repeats.groupBy("place").count().collect()})
            with ThreadPoolExecutor(WRITERS) as pool:
                list(pool.map(write, parts))
        finally:
            repeats.unpersist()

    def _commit_contents(self, rows: DataFrame, tables: Collection[str]) -> None:
        """Append what is new of facets; they are known only when their commit is done."""
        for table, column in CONTENTS:
            if table.name in tables:
                new = _of_table(rows, table).dropDuplicates([column, "ordinal"])
                self._bronze.append_contents(table, new)
                self._remember({bytes.fromhex(row[0]) for row in new.select(column).distinct().collect()})

    def _remember(self, hashes: set[bytes]) -> None:
        known = (self._hashes or set()) | hashes
        self._hashes = hashes if len(known) > MAX_HASHES else known


def _of_table(rows: DataFrame, table: Table) -> DataFrame:
    return rows.where(F.col("table") == table.name).select("place", "number", f"{table.name}.*")


def _missing(rows: DataFrame, source: Source, present: Collection[int]) -> DataFrame:
    found = rows.where(F.col("place") == source.partition)
    return found.where(~F.col("number").isin(list(present))) if present else found


def _repeats(events: DataFrame, stored: DataFrame) -> DataFrame:
    """Return `place`, `number` of the events that the lake, or an earlier record of the batch, has already."""
    slim = events.select("place", "number", "event_id")
    first = Window.partitionBy("place", "event_id").orderBy("number")
    later = slim.withColumn("turn", F.row_number().over(first)).where("turn > 1")
    known = slim.join(stored, ["place", "event_id"], "left_semi")
    return later.select("place", "number").union(known.select("place", "number")).distinct()
