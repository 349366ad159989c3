"""Write bronze with Spark. Tables and transactions are those of the parser, so either can continue after the other."""

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
"""Delta 4 requires by default that a table's log is retained as long as its removed files. Bronze needs it only 6 h."""


@dataclass(frozen=True)
class PartialAttempt:
    """What an interrupted attempt has already stored.

    marks: by table, the transaction of each partition; rows: by table, (partition, sequence) of the stored rows.
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
        """Create missing tables and add missing columns to existing ones.

        owner: the ingest route that may write them. New tables have the same protocol as those of delta-rs: reader
        version 1, writer version 2.
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
        """Count the records that bronze stores of a log, save the number as a table property and return it.

        The audit needs it for every log that is not the lake's current one. now_us: microseconds since 1970.
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

    def known(self, _: int) -> DataFrame:
        """Return the ids of all stored events of all logs, because files often contain events that a log delivered."""
        return self.read(EVENTS).select(F.lit("0").alias("place"), "event_id")

    def properties(self) -> Mapping[str, str]:
        """Return the properties of table `events`, which apply to all of bronze."""
        return self._transactions.properties(self._folder.uri(EVENTS))

    def read(self, table: Table) -> DataFrame:
        """Return the newest version of a table."""
        return self._folder.read(table)

    def watermarks(self, sources: Collection[Source]) -> dict[Source, int]:
        """Return the newest stored sequence number of each partition, 0 if the lake has no record of it."""
        return self._marks(EVENTS, sources)

    def partial_attempt(self, watermarks: Mapping[Source, int]) -> PartialAttempt:
        """Find rows after the watermarks. An attempt that was interrupted before its last commit has stored them."""
        partial_attempt = PartialAttempt({}, {})
        for table in ONE_ROW_EACH:
            partial_attempt.marks[table.name] = marks = self._marks(table, watermarks)
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
        """Append rows in one commit that sets the transactions of their partitions to `last`.

        before: the transactions from which the caller derived the rows. Raises LakeUnavailable if they have changed.
        """
        expected = {source.app_id: mark for source, mark in before.items()}
        after = {source.app_id: max(number, before[source]) for source, number in last.items()}
        self._transactions.append(self._folder.uri(table), conform(rows, table), expected, after)
        reach_failpoint(f"stream.after_{table.name}")

    def append_contents(self, table: Table, rows: DataFrame) -> None:
        """Append rows of facets. Readers ignore repeated rows, so an attempt may append them again."""
        conform(rows, table).write.format("delta").mode("append").save(self._folder.uri(table))
        reach_failpoint(f"stream.after_{table.name}")

    def hashes(self, limit: int) -> set[bytes]:
        """Return the keys of facets whose rows are stored, at most `limit` of each table."""
        known = [self.read(table).select(F.lit(table.name), column).distinct().limit(limit) for table, column in HASHED]
        return {stored_key(*row) for row in reduce(DataFrame.union, known).collect()}

    def _marks(self, table: Table, sources: Collection[Source]) -> dict[Source, int]:
        found = self._transactions.versions(self._folder.uri(table), [source.app_id for source in sources])
        return {source: found[source.app_id] for source in sources}


def _is_of_source(source: Source) -> Any:
    return (
        (F.col("log") == source.log) & (F.col("incarnation") == source.epoch) & (F.col("partition") == source.partition)
    )
