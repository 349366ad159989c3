"""Bronze as Spark writes it: tables and transactions are the parser's, so that either goes on after the other."""

from collections.abc import Mapping
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.position import Source
from headwater.failpoints import reach
from headwater.lake.ownership import check_owner, creation_properties
from headwater.spark.delta import Folder, shaped, spark_schema
from headwater.tables import BRONZE, COLUMN_LINEAGE, DUPLICATES, EVENTS, REFUSED, REJECTED, SCHEMAS, Table

ONE_ROW_EACH = (REJECTED, DUPLICATES, REFUSED)
CONTENTS = ((COLUMN_LINEAGE, "lineage_hash"), (SCHEMAS, "schema_hash"))


class SparkBronze:
    """The bronze tables below `root`, a folder or a URI that Spark reads and writes."""

    def __init__(self, spark: SparkSession, root: str):
        """Touch nothing yet."""
        self._spark = spark
        self._folder = Folder(spark, root, BRONZE)

    def create(self, owner: str, incarnation: str) -> None:
        """Create the tables that are missing, owned by one ingest route; protocol 1/2, as delta-rs makes them."""
        for table in BRONZE:
            if not self._folder.exists(table):
                builder = DeltaTable.createIfNotExists(self._spark).location(self._folder.uri(table))
                builder = builder.addColumns(spark_schema(table)).partitionedBy(*table.partition_by)
                for name, value in creation_properties(table, owner, incarnation).items():
                    builder = builder.property(name, value)
                builder.property("delta.enableDeletionVectors", "false").execute()

    def properties(self) -> Mapping[str, str]:
        """Return the properties of `events`, which decides."""
        found = DeltaTable.forPath(self._spark, self._folder.uri(EVENTS)).detail().select("properties").first()
        return dict(found[0]) if found else {}

    def check_owner(self, owner: str, hand_over: str) -> None:
        """Raise WrongSetting if another ingest route owns bronze."""
        check_owner(self.properties(), owner, hand_over)

    def read(self, table: Table) -> DataFrame:
        """Return a table at its newest version."""
        return self._folder.read(table)

    def watermark(self, source: Source, table: Table = EVENTS) -> int:
        """Return the newest sequence number of a partition that a table's transactions name, 0 before the first.

        Only Delta's own classes know them: there is no public way in Python.
        """
        delta = self._spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]
        jvm_spark: Any = self._spark._jsparkSession
        found = delta.forTableWithSnapshot(jvm_spark, self._folder.uri(table))._2().transactions().get(source.app_id)
        return int(found.get()) if found.isDefined() else 0

    def cut_off(self, source: Source, watermark: int) -> dict[str, set[int]]:
        """Return, by table, the sequences beyond the watermark that an attempt without its last commit has left."""
        found: dict[str, set[int]] = {}
        for table in ONE_ROW_EACH:
            found[table.name] = set()
            if self.watermark(source, table) > watermark:
                rows = (
                    self.read(table).where(_of(source) & (F.col("sequence") > watermark)).select("sequence").collect()
                )
                found[table.name] = {row.sequence for row in rows}
        return found

    def append(self, table: Table, source: Source, rows: DataFrame, last: int) -> None:
        """Append rows of a partition in one commit that moves the table's transaction to `last`.

        Rows that an earlier attempt has left are not among them: where it got as far as its commit, more may follow.
        """
        writer = shaped(rows, table).write.format("delta").mode("append")
        if self.watermark(source, table) < last:
            writer = writer.option("txnAppId", source.app_id).option("txnVersion", last)
        writer.save(self._folder.uri(table))
        reach(f"stream.after_{table.name}")

    def append_contents(self, table: Table, rows: DataFrame) -> None:
        """Append facets' rows; storing one twice does no harm, every reader counts it once."""
        shaped(rows, table).write.format("delta").mode("append").save(self._folder.uri(table))
        reach(f"stream.after_{table.name}")

    def hashes(self, limit: int) -> set[bytes]:
        """Return hashes of facets whose rows are stored, at most `limit` of each table."""
        found: set[bytes] = set()
        for table, column in CONTENTS:
            rows = self.read(table).select(column).distinct().limit(limit).collect()
            found.update(bytes.fromhex(row[0]) for row in rows)
        return found


def _of(source: Source) -> Any:
    return (
        (F.col("log") == source.log)
        & (F.col("incarnation") == source.incarnation)
        & (F.col("partition") == source.partition)
    )
