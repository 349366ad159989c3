"""Write bronze with Spark. The parser writes the same tables and transactions, so one can continue after the other."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.failpoints import reach_failpoint
from headwater.events.position import Source
from headwater.lake.ownership import PAST, check_owner, creation_properties
from headwater.spark.delta.missing_columns import add_columns
from headwater.spark.delta.spark_delta import TableFolder, conform, run_concurrently, spark_schema
from headwater.spark.delta.transactions import DeltaCommits
from headwater.tables import BRONZE, DUPLICATES, EVENTS, HASHED, REFUSED, REJECTED, Table, stored_key

ONE_ROW_EACH = (REJECTED, DUPLICATES, REFUSED)

_SAME_RETENTION = "spark.databricks.delta.vacuum.enforceDeletedFileAndLogRetentionDurationCompatibility"
"""Spark setting: by default, Delta 4 requires a table's log to be retained as long as its removed files.

This module turns the check off, because bronze retains its log for only 6 hours.
"""


@dataclass(frozen=True)
class PartialAttempt:
    """The rows of a batch that an interrupted attempt has already stored in the tables of `ONE_ROW_EACH`.

    marks: the transaction version of each partition, by name of the table.
    rows: (partition, sequence) of the stored rows, by name of the table.
    """

    marks: dict[str, dict[Source, int]]
    rows: dict[str, list[tuple[str, int]]]


class SparkBronze:
    """The bronze tables below `root`, a folder or URI that Spark can read and write."""

    def __init__(self, spark: SparkSession, root: str):
        self._spark = spark
        self._folder = TableFolder(spark, root, BRONZE)
        self._transactions = DeltaCommits(spark)

    def create(self, owner: str, epoch: str) -> None:
        """Create missing tables and add missing columns to existing tables.

        owner: the ingest route that may write to the tables. epoch: the epoch of the log that the route ingests. New
        tables have reader version 1 and writer version 2, like tables that delta-rs creates.
        """
        self._spark.conf.set(_SAME_RETENTION, "false")
        run_concurrently(*(partial(self._create, table, creation_properties(table, owner, epoch)) for table in BRONZE))

    def _create(self, table: Table, properties: Mapping[str, str]) -> None:
        if self._folder.exists(table):
            add_columns(self._spark, self._folder.uri(table), spark_schema(table))
            return
        builder = DeltaTable.createIfNotExists(self._spark).location(self._folder.uri(table))
        builder = builder.addColumns(spark_schema(table)).partitionedBy(*table.partition_by)
        for name, value in {**properties, "delta.enableDeletionVectors": "false"}.items():
            builder = builder.property(name, value)
        builder.execute()

    def check_owner(self, owner: str) -> None:
        """Raise WrongSetting if another ingest route owns bronze."""
        check_owner(self.properties(), owner)

    def exists(self) -> bool:
        """Return whether bronze has been created."""
        return self._folder.exists(EVENTS)

    def save_record_count(self, log: str, now_us: int) -> int:
        """Count the records of a log that bronze stores. Saves the number as a table property and returns it.

        The audit needs this number for every log except the lake's current log. now_us: microseconds since 1970.
        """
        of_log = F.col("log") == log
        received = sum(self.read(table).where(of_log).count() for table in (EVENTS, DUPLICATES))
        rejected = self.read(REJECTED).where(of_log)
        received += rejected.agg(F.coalesce(F.sum(F.expr("to_sequence - sequence + 1")), F.lit(0))).collect()[0][0]
        epochs = json.loads(self.properties().get(PAST, "[]"))
        if (log, received) in ((epoch[0], epoch[1]) for epoch in epochs):
            return int(received)
        text = json.dumps([*(epoch for epoch in epochs if epoch[0] != log), (log, received, now_us)])
        self._spark.sql(f"ALTER TABLE delta.`{self._folder.uri(EVENTS)}` SET TBLPROPERTIES ('{PAST}' = '{text}')")
        return int(received)

    def stored_event_ids(self, _: int) -> DataFrame:
        """Return the ids of the stored events of all logs, as (`place`, `event_id`) with the place "0".

        Files often contain events that another log has already delivered. The argument, a receipt time, is ignored.
        """
        return self.read(EVENTS).select(F.lit("0").alias("place"), "event_id")

    def properties(self) -> Mapping[str, str]:
        """Return the properties of table `events`, which apply to all of bronze."""
        return self._transactions.properties(self._folder.uri(EVENTS))

    def read(self, table: Table) -> DataFrame:
        """Return the rows of a table's newest version."""
        return self._folder.read(table)

    def watermarks(self, sources: Collection[Source]) -> dict[Source, int]:
        """Return the newest stored sequence number of each partition, or 0 if the lake has no records of it."""
        return self._table_watermarks(EVENTS, sources)

    def partial_attempt(self, watermarks: Mapping[Source, int]) -> PartialAttempt:
        """Find the rows after the watermarks. An attempt that was interrupted before its last commit stored them."""
        partial_attempt = PartialAttempt({}, {})
        for table in ONE_ROW_EACH:
            partial_attempt.marks[table.name] = marks = self._table_watermarks(table, watermarks)
            partial_attempt.rows[table.name] = [
                (source.partition, row.sequence)
                for source, mark in watermarks.items()
                if marks[source] > mark
                for row in self.read(table)
                .where(_is_of_source(source) & (F.col("sequence") > mark))
                .select("sequence")
                .collect()
            ]
        return partial_attempt

    def append(self, table: Table, rows: DataFrame, before: Mapping[Source, int], last: Mapping[Source, int]) -> None:
        """Append rows in one commit, which also sets the transactions of the partitions to `last`.

        before: the transaction versions from which the caller derived the rows. Raises LakeUnavailable if the current
        versions differ from them.
        """
        expected = {source.app_id: mark for source, mark in before.items()}
        after = {source.app_id: max(number, before[source]) for source, number in last.items()}
        self._transactions.append(self._folder.uri(table), conform(rows, table), expected, after)
        reach_failpoint(f"stream.after_{table.name}")

    def append_contents(self, table: Table, rows: DataFrame) -> None:
        """Append rows of a table in `HASHED`. Readers ignore repeated rows, so an attempt may append rows again."""
        conform(rows, table).write.format("delta").mode("append").save(self._folder.uri(table))
        reach_failpoint(f"stream.after_{table.name}")

    def stored_content_keys(self, limit: int) -> set[bytes]:
        """Return the keys (`stored_key`) of the contents that bronze has stored, at most `limit` of each table."""
        known = [self.read(table).select(F.lit(table.name), column).distinct().limit(limit) for table, column in HASHED]
        return {stored_key(*row) for row in reduce(DataFrame.union, known).collect()}

    def _table_watermarks(self, table: Table, sources: Collection[Source]) -> dict[Source, int]:
        found = self._transactions.transaction_versions(self._folder.uri(table), [source.app_id for source in sources])
        return {source: found[source.app_id] for source in sources}


def _is_of_source(source: Source) -> Any:
    return (
        (F.col("log") == source.log) & (F.col("incarnation") == source.epoch) & (F.col("partition") == source.partition)
    )
