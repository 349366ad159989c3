"""Commit batches of log records to bronze with Spark, each record once, in the same order of tables as the parser."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import LogUnavailable
from headwater.events.position import Source
from headwater.spark.log_ingest.bronze_rows import ROWS, BronzeRows, PartitionPosition
from headwater.spark.log_ingest.bronze_writer import ONE_ROW_EACH, PartialAttempt, SparkBronze
from headwater.spark.log_ingest.claim_reader import with_claims
from headwater.tables import DUPLICATES, EVENTS, HASHED, REJECTED, Table, stored_key

MAX_HASHES = 500_000
Tables = Mapping[str, Collection[str]]
"""Names of the tables for which a batch has rows, with the hashes of these rows if the table is in `HASHED`."""

_PLACE = ["place", "number"]
_PLACE_TYPES = "place string, number long"

RowsBy = Callable[[BronzeRows], DataFrame]
"""Returns the converted and persisted rows of a batch, with the columns of `ROWS` and possibly more columns."""

Stored = Callable[[int], DataFrame]
"""Returns `place` and `event_id` of the stored events with which new events are compared to find duplicates.

The argument is the receipt time of the oldest new record (us).
"""


@dataclass(frozen=True)
class PartitionRange:
    """The records of one partition in a batch.

    first, last: the lowest and the highest sequence number. received_us: receipt time of the oldest record (us).
    claims: keys of the large bodies to which records refer.
    """

    first: int
    last: int
    received_us: int
    claims: frozenset[bytes]


def partition_ranges(records: DataFrame) -> dict[str, PartitionRange]:
    """Return the range of each partition in a batch. records: columns of `RECORDS`; `claim` may be missing."""
    found = records.groupBy("partition").agg(
        F.min("sequence").alias("first"),
        F.max("sequence").alias("last"),
        F.min("received_us").alias("received_us"),
        F.collect_set(F.when(F.col("kind") == 1, F.col("body"))).alias("claims"),
    )
    return {
        row.partition: PartitionRange(row["first"], row["last"], row.received_us, frozenset(map(bytes, row.claims)))
        for row in found.collect()
    }


class BatchIngest:
    """Commits batches of one epoch of a log."""

    def __init__(self, spark: SparkSession, bronze: SparkBronze, log: str, epoch: str, claims: str | None):
        """claims: folder or URI of large bodies, readable by Spark; None if the log has none."""
        self._spark = spark
        self._bronze = bronze
        self._log = log
        self._epoch = epoch
        self._claims = claims
        self._hashes: set[bytes] | None = None

    def source_of_partition(self, partition: str) -> Source:
        """Return the source that identifies a partition of this log."""
        return Source(self._log, self._epoch, partition)

    def ingest(
        self,
        records: DataFrame,
        ranges: Mapping[str, PartitionRange],
        heads: Callable[[], Mapping[str, int]],
        stored: Stored,
    ) -> None:
        """Convert the new records of a batch and commit them as `ingest_rows` does.

        records: columns of `RECORDS` without `claim`. This method reads the large bodies with Spark.
        """

        def rows_by(step: BronzeRows) -> DataFrame:
            new = records.where(F.col("partition").isin([*step.starts]))
            claims = frozenset[bytes]().union(*(ranges[name].claims for name in step.starts))
            return with_claims(self._spark, new, self._claims, claims).mapInArrow(step, ROWS).persist()

        self.ingest_rows(rows_by, ranges, heads, stored)

    def ingest_rows(
        self,
        rows_by: RowsBy,
        ranges: Mapping[str, PartitionRange],
        heads: Callable[[], Mapping[str, int]],
        stored: Stored,
    ) -> bool:
        """Commit the new records of a batch and return whether there were any.

        The commit of table `events` comes last, because its transactions are the watermarks of the partitions.

        rows_by: converts the records; called only if there are new records.
        ranges: the records of the batch, by partition.
        heads: returns the oldest sequence number that the log still has of each partition. Partitions in which sequence
        numbers may have gaps are missing.
        stored: returns the stored events with which new events are compared to find duplicates.

        Raises LogUnavailable if the log deleted records during the read, and LakeUnavailable if another process commits
        to bronze.
        """
        marks = self._bronze.watermarks([self.source_of_partition(name) for name in ranges])
        new = {source: mark for source, mark in marks.items() if ranges[source.partition].last > mark}
        if not new:
            return False
        attempt, before = self._bronze.partial_attempt(new), heads()
        names = [source.partition for source in new]
        starts = {
            source.partition: PartitionPosition(
                mark, before.get(source.partition), _stored_sequences(attempt, source.partition)
            )
            for source, mark in new.items()
        }
        rows = rows_by(BronzeRows(self._log, self._epoch, starts, self._broadcast_hashes()))
        try:
            tables = _rows_by_table(rows)
            _check_retained(before, heads(), new)
            last = {source: ranges[source.partition].last for source in new}
            self._commit(
                rows,
                tables,
                _BatchTransactions(new, last, attempt),
                stored(min(ranges[name].received_us for name in names)),
            )
        finally:
            rows.unpersist()
        return True

    def _broadcast_hashes(self) -> Any:
        """Broadcast the keys (`stored_key`) of the contents that bronze has stored."""
        if self._hashes is None:
            self._hashes = self._bronze.stored_content_keys(MAX_HASHES)
        return self._spark.sparkContext.broadcast(frozenset(self._hashes))

    def _commit(self, rows: DataFrame, tables: Tables, marks: "_BatchTransactions", stored: DataFrame) -> None:
        self._commit_contents(rows, tables)
        new_events = _rows_of_table(rows, EVENTS)
        if repeats := [tuple(row) for row in _repeated_events(new_events, stored).collect()]:
            repeated = F.broadcast(self._spark.createDataFrame(repeats, _PLACE_TYPES))
            duplicates = new_events.join(repeated, _PLACE, "left_semi")
            new_events = new_events.join(repeated, _PLACE, "left_anti")
        for table in ONE_ROW_EACH:
            found = _rows_of_table(rows, table)
            if table is DUPLICATES and repeats:
                self._append(table, found.unionByName(duplicates.select(*found.columns)), marks)
            elif table.name in tables:
                self._append(table, found, marks)
        self._bronze.append(EVENTS, new_events, marks.watermarks, marks.last)

    def _append(self, table: Table, rows: DataFrame, marks: "_BatchTransactions") -> None:
        """Append rows of a table, except rows that an interrupted attempt has already appended."""
        if present := marks.attempt.rows[table.name]:
            rows = rows.join(F.broadcast(self._spark.createDataFrame(present, _PLACE_TYPES)), _PLACE, "left_anti")
        self._bronze.append(table, rows, marks.attempt.marks[table.name], marks.last)

    def _commit_contents(self, rows: DataFrame, tables: Tables) -> None:
        """Append new contents to the tables in `HASHED`. A content counts as stored only after its commit."""
        for table, column in HASHED:
            if hashes := tables.get(table.name):
                self._bronze.append_contents(
                    table, _rows_of_table(rows, table).dropDuplicates(_key_columns(table, column))
                )
                self._remember_hashes({stored_key(table.name, each) for each in hashes})

    def _remember_hashes(self, hashes: set[bytes]) -> None:
        known = (self._hashes or set()) | hashes
        self._hashes = hashes if len(known) > MAX_HASHES else known


@dataclass(frozen=True)
class _BatchTransactions:
    """Transactions of a batch.

    watermarks: the last stored sequence number of each partition before the batch. last: the same after the batch.
    attempt: rows of the batch that an interrupted attempt has stored.
    """

    watermarks: Mapping[Source, int]
    last: Mapping[Source, int]
    attempt: PartialAttempt


def _rows_by_table(rows: DataFrame) -> Tables:
    """Compute the rows of a batch. Return the tables with rows, and the hashes of contents in these rows."""
    content_hash = F.coalesce(*(F.col(f"{table.name}.{column}") for table, column in HASHED))
    found = rows.where("table IS NOT NULL").groupBy("table").agg(F.collect_set(content_hash).alias("hashes")).collect()
    return {row.table: row.hashes for row in found}


def _stored_sequences(attempt: PartialAttempt, partition: str) -> frozenset[int]:
    rows = [*attempt.rows[REJECTED.name], *attempt.rows[DUPLICATES.name]]
    return frozenset(sequence for name, sequence in rows if name == partition)


def _check_retained(before: Mapping[str, int], after: Mapping[str, int], marks: Mapping[Source, int]) -> None:
    """Raise LogUnavailable if the log deleted records of the batch during the read.

    Without this check, the deleted records would be recorded as a gap. before, after: the oldest sequence number of
    each partition before and after the read. marks: the watermark of each partition.
    """
    for source, mark in marks.items():
        if after.get(source.partition, 0) > max(before.get(source.partition, 0), mark + 1):
            raise LogUnavailable(
                f"The log deleted records of partition {source.partition} during the read because their retention "
                "ended. The remaining records are read again. Increase the retention of the log."
            )


def _key_columns(table: Table, column: str) -> list[str]:
    return [column, "ordinal"] if "ordinal" in table.columns else [column]


def _rows_of_table(rows: DataFrame, table: Table) -> DataFrame:
    return rows.where(F.col("table") == table.name).select(*_PLACE, f"{table.name}.*")


def _repeated_events(events: DataFrame, stored: DataFrame) -> DataFrame:
    """Return `place` and `number` of events that repeat a stored event or an earlier event of the batch."""
    first = Window.partitionBy("place", "event_id").orderBy("number")
    turns = events.select(*_PLACE, "event_id", F.row_number().over(first).alias("turn"))
    known = stored.distinct().withColumn("known", F.lit(True))
    return turns.join(known, ["place", "event_id"], "left").where("turn > 1 OR known").select(*_PLACE)
