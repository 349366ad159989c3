"""A batch of a log's records into bronze, each once: the parser's order of commits, with Spark's hands."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import LogUnavailable
from headwater.events.position import Source
from headwater.spark.bronze.bronze_rows import ROWS, BronzeRows, Start
from headwater.spark.bronze.bronze_writer import ONE_ROW_EACH, Left, SparkBronze
from headwater.spark.bronze.claim_reader import with_claims
from headwater.tables import DUPLICATES, EVENTS, HASHED, REJECTED, Table, stored_key

MAX_HASHES = 500_000
Tables = Mapping[str, Collection[str]]
"""Tables that a batch has rows for, with the hashes of the facets among them."""

_PLACE = ["place", "number"]
_PLACE_TYPES = "place string, number long"

RowsBy = Callable[[BronzeRows], DataFrame]
"""Gives the rows of a batch as a step makes them, kept: `ROWS`, and what else their reader has to say."""

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
    """Takes batches of one epoch of one log."""

    def __init__(self, spark: SparkSession, bronze: SparkBronze, log: str, epoch: str, claims: str | None):
        """Touch nothing yet. claims: folder or URI of large bodies, which Spark can read."""
        self._spark = spark
        self._bronze = bronze
        self._log = log
        self._epoch = epoch
        self._claims = claims
        self._hashes: set[bytes] | None = None

    def source(self, partition: str) -> Source:
        """Return the source of a partition."""
        return Source(self._log, self._epoch, partition)

    def take(
        self, records: DataFrame, ranges: Mapping[str, Range], heads: Callable[[], Mapping[str, int]], stored: Stored
    ) -> None:
        """Commit what is new of a batch of `RECORDS` without their `claim`; as `take_rows`."""

        def rows_by(step: BronzeRows) -> DataFrame:
            new = records.where(F.col("partition").isin([*step.starts]))
            claims = frozenset[bytes]().union(*(ranges[name].claims for name in step.starts))
            return with_claims(self._spark, new, self._claims, claims).mapInArrow(step, ROWS).persist()

        self.take_rows(rows_by, ranges, heads, stored)

    def take_rows(
        self, rows_by: RowsBy, ranges: Mapping[str, Range], heads: Callable[[], Mapping[str, int]], stored: Stored
    ) -> bool:
        """Commit what is new of a batch, partition by partition, `events` last: its transaction is the watermark.

        rows_by: is asked only if there is anything new; returns whether there was. heads: asks which sequence each
        partition of the log begins with; none where numbers are left out at will.
        """
        marks = self._bronze.watermarks([self.source(name) for name in ranges])
        new = {source: mark for source, mark in marks.items() if ranges[source.partition].last > mark}
        if not new:
            return False
        left, before = self._bronze.left(new), heads()
        names = [source.partition for source in new]
        starts = {
            source.partition: Start(mark, before.get(source.partition), _decided(left, source.partition))
            for source, mark in new.items()
        }
        rows = rows_by(BronzeRows(self._log, self._epoch, starts, self._known()))
        try:
            tables = _tables(rows)
            _check_kept(before, heads(), new)
            last = {source: ranges[source.partition].last for source in new}
            self._commit(rows, tables, _Marks(new, last, left), stored(min(ranges[name].received_us for name in names)))
        finally:
            rows.unpersist()
        return True

    def _known(self) -> Any:
        """Return the facets whose rows are stored, broadcast."""
        if self._hashes is None:
            self._hashes = self._bronze.hashes(MAX_HASHES)
        return self._spark.sparkContext.broadcast(frozenset(self._hashes))

    def _commit(self, rows: DataFrame, tables: Tables, marks: "_Marks", stored: DataFrame) -> None:
        self._commit_contents(rows, tables)
        fresh = _of_table(rows, EVENTS)
        if repeats := [tuple(row) for row in _repeats(fresh, stored).collect()]:
            repeated = F.broadcast(self._spark.createDataFrame(repeats, _PLACE_TYPES))
            again = fresh.join(repeated, _PLACE, "left_semi")
            fresh = fresh.join(repeated, _PLACE, "left_anti")
        for table in ONE_ROW_EACH:
            found = _of_table(rows, table)
            if table is DUPLICATES and repeats:
                self._append(table, found.unionByName(again.select(*found.columns)), marks)
            elif table.name in tables:
                self._append(table, found, marks)
        self._bronze.append(EVENTS, fresh, marks.watermarks, marks.last)

    def _append(self, table: Table, rows: DataFrame, marks: "_Marks") -> None:
        """Append rows without those that an interrupted attempt has already appended."""
        if present := marks.left.rows[table.name]:
            rows = rows.join(F.broadcast(self._spark.createDataFrame(present, _PLACE_TYPES)), _PLACE, "left_anti")
        self._bronze.append(table, rows, marks.left.marks[table.name], marks.last)

    def _commit_contents(self, rows: DataFrame, tables: Tables) -> None:
        """Append what is new of facets; they are known only when their commit is done."""
        for table, column in HASHED:
            if hashes := tables.get(table.name):
                self._bronze.append_contents(table, _of_table(rows, table).dropDuplicates(_key(table, column)))
                self._remember({stored_key(table.name, each) for each in hashes})

    def _remember(self, hashes: set[bytes]) -> None:
        known = (self._hashes or set()) | hashes
        self._hashes = hashes if len(known) > MAX_HASHES else known


@dataclass(frozen=True)
class _Marks:
    """Transactions of a batch: what they are, what they will be, and what an attempt before has left."""

    watermarks: Mapping[Source, int]
    last: Mapping[Source, int]
    left: Left


def _tables(rows: DataFrame) -> Tables:
    """Work the rows out, and tell which there are."""
    content_hash = F.coalesce(*(F.col(f"{table.name}.{column}") for table, column in HASHED))
    found = rows.where("table IS NOT NULL").groupBy("table").agg(F.collect_set(content_hash).alias("hashes")).collect()
    return {row.table: row.hashes for row in found}


def _decided(left: Left, partition: str) -> frozenset[int]:
    rows = [*left.rows[REJECTED.name], *left.rows[DUPLICATES.name]]
    return frozenset(sequence for name, sequence in rows if name == partition)


def _check_kept(before: Mapping[str, int], after: Mapping[str, int], marks: Mapping[Source, int]) -> None:
    """Raise LogUnavailable if retention deleted records of the batch during the read. They are not a gap in the log."""
    for source, mark in marks.items():
        if after.get(source.partition, 0) > max(before.get(source.partition, 0), mark + 1):
            raise LogUnavailable(
                f"Retention deleted records of partition {source.partition} during the read. The others are read "
                "again; lengthen its retention."
            )


def _key(table: Table, column: str) -> list[str]:
    return [column, "ordinal"] if "ordinal" in table.columns else [column]


def _of_table(rows: DataFrame, table: Table) -> DataFrame:
    return rows.where(F.col("table") == table.name).select(*_PLACE, f"{table.name}.*")


def _repeats(events: DataFrame, stored: DataFrame) -> DataFrame:
    """Return `place`, `number` of the events that the lake, or an earlier record of the batch, has already."""
    first = Window.partitionBy("place", "event_id").orderBy("number")
    turns = events.select(*_PLACE, "event_id", F.row_number().over(first).alias("turn"))
    known = stored.distinct().withColumn("known", F.lit(True))
    return turns.join(known, ["place", "event_id"], "left").where("turn > 1 OR known").select(*_PLACE)
