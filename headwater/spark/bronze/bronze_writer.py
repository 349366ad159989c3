"""Bronze as Spark writes it: tables and transactions are the parser's, so that either goes on after the other."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.failpoints import reach
from headwater.events.position import Source
from headwater.lake.ownership import PAST, check_owner, creation_properties
from headwater.spark.delta.missing_columns import add_columns
from headwater.spark.delta.spark_delta import TableFolder, shaped, spark_schema, together
from headwater.spark.delta.transactions import Transactions
from headwater.tables import BRONZE, DUPLICATES, EVENTS, HASHED, REFUSED, REJECTED, Table, stored_key

ONE_ROW_EACH = (REJECTED, DUPLICATES, REFUSED)

_SAME_RETENTION = "spark.databricks.delta.vacuum.enforceDeletedFileAndLogRetentionDurationCompatibility"
"""Whether Delta's own log must be kept as long as removed files, for who reads old versions; since Delta 4."""


@dataclass(frozen=True)
class Left:
    """What an attempt that was cut off has left: by table, the transactions, and (partition, sequence) of its rows."""

    marks: dict[str, dict[Source, int]]
    rows: dict[str, list[tuple[str, int]]]


class SparkBronze:
    """The bronze tables below `root`, a folder or a URI that Spark reads and writes."""

    def __init__(self, spark: SparkSession, root: str):
        """Touch nothing yet."""
        self._spark = spark
        self._folder = TableFolder(spark, root, BRONZE)
        self._transactions = Transactions(spark)

    def create(self, owner: str, epoch: str) -> None:
        """Create the tables that are missing, owned by one ingest route; protocol 1/2, as delta-rs makes them.

        Tables that an older version made get the columns that came since.
        """
        self._spark.conf.set(_SAME_RETENTION, "false")
        together(*(partial(self._create, table, creation_properties(table, owner, epoch)) for table in BRONZE))

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
        """Tell whether the tables have been created."""
        return self._folder.exists(EVENTS)

    def keep_books(self, log: str, now_us: int) -> int:
        """Record the number of stored records of a log that is not the lake's own, for the audit, and return it.

        now_us: microseconds since 1970.
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
        """Return the ids of all stored events. Files mostly contain events that a log has delivered, too."""
        return self.read(EVENTS).select(F.lit("0").alias("place"), "event_id")

    def properties(self) -> Mapping[str, str]:
        """Return the properties of `events`, which decides."""
        return self._transactions.properties(self._folder.uri(EVENTS))

    def read(self, table: Table) -> DataFrame:
        """Return a table at its newest version."""
        return self._folder.read(table)

    def watermarks(self, sources: Collection[Source]) -> dict[Source, int]:
        """Return the newest sequence number of each partition that is in the lake, 0 before the first."""
        return self._marks(EVENTS, sources)

    def left(self, watermarks: Mapping[Source, int]) -> Left:
        """Look for what an attempt without its last commit has left beyond the watermarks."""
        left = Left({}, {})
        for table in ONE_ROW_EACH:
            left.marks[table.name] = marks = self._marks(table, watermarks)
            left.rows[table.name] = [
                (source.partition, row.sequence)
                for source, mark in watermarks.items()
                if marks[source] > mark
                for row in self.read(table).where(_of(source) & (F.col("sequence") > mark)).select("sequence").collect()
            ]
        return left

    def append(self, table: Table, rows: DataFrame, before: Mapping[Source, int], last: Mapping[Source, int]) -> None:
        """Append rows in one commit that moves the transactions of their partitions to `last`.

        before: what the transactions were when it was decided which rows these are. Raises LakeUnavailable.
        """
        seen = {source.app_id: mark for source, mark in before.items()}
        after = {source.app_id: max(number, before[source]) for source, number in last.items()}
        self._transactions.append(self._folder.uri(table), shaped(rows, table), seen, after)
        reach(f"stream.after_{table.name}")

    def append_contents(self, table: Table, rows: DataFrame) -> None:
        """Append facets' rows; storing one twice does no harm, every reader counts it once."""
        shaped(rows, table).write.format("delta").mode("append").save(self._folder.uri(table))
        reach(f"stream.after_{table.name}")

    def hashes(self, limit: int) -> set[bytes]:
        """Return hashes whose rows are stored, at most `limit` of each table."""
        known = [self.read(table).select(F.lit(table.name), column).distinct().limit(limit) for table, column in HASHED]
        return {stored_key(*row) for row in reduce(DataFrame.union, known).collect()}

    def _marks(self, table: Table, sources: Collection[Source]) -> dict[Source, int]:
        found = self._transactions.versions(self._folder.uri(table), [source.app_id for source in sources])
        return {source: found[source.app_id] for source in sources}


def _of(source: Source) -> Any:
    return (
        (F.col("log") == source.log) & (F.col("incarnation") == source.epoch) & (F.col("partition") == source.partition)
    )
