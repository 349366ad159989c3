"""Delta tables as Spark sees them: a folder of tables that is built anew beside the old one and switched at once."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.failpoints import reach
from headwater.spark.new_columns import add_columns, with_nulls
from headwater.tables import ListOf, StructOf, Table, Type

TEXTS = ("parts", "contents", "said", "content", "value", "columns", "tags", "state", "body")
"""Long texts: no statistics are kept of them."""

_SIDE_BY_SIDE = 4


class Folder:
    """The tables of one layer in one generation; `root` is a folder or a URI that Spark can read."""

    def __init__(self, spark: SparkSession, root: str, tables: Sequence[Table]):
        """Touch nothing yet."""
        self.spark = spark
        self.root = root
        self._tables = {table.name: table for table in tables}
        self._empty: set[str] = set()

    def create(self) -> None:
        """Create the tables that are missing; protocol 1/2, so that delta-rs and Fabric can read and write them.

        Tables that an older version made get the columns that came since.
        """
        together(*(partial(self._create, table) for table in self._tables.values()))

    def _create(self, table: Table) -> None:
        useless = (*TEXTS, *table.partition_by)
        statistics = [name for name, kind in table.columns.items() if kind != "boolean" and name not in useless]
        if self.exists(table):
            add_columns(self.spark, self.uri(table), spark_schema(table))
            return
        builder = DeltaTable.createIfNotExists(self.spark).location(self.uri(table))
        builder = builder.addColumns(spark_schema(table)).partitionedBy(*table.partition_by)
        builder = builder.property("delta.dataSkippingStatsColumns", ",".join(statistics))
        builder.property("delta.enableDeletionVectors", "false").execute()
        self._empty.add(table.name)

    def exists(self, table: Table) -> bool:
        """Tell whether a table is there."""
        return DeltaTable.isDeltaTable(self.spark, self.uri(table))

    def uri(self, table: Table) -> str:
        """Return where a table lies."""
        return f"{self.root}/{table.name}"

    def read(self, table: Table) -> DataFrame:
        """Return a table at its newest version; columns that came since it was made are null."""
        return with_nulls(self.spark.read.format("delta").load(self.uri(table)), spark_schema(table))

    def rows(self, table: Table, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
        """Return rows in the columns of a table."""
        return self.spark.createDataFrame(list(rows), spark_schema(table))

    def overwrite(self, table: Table, frame: DataFrame) -> None:
        """Replace all rows in one commit."""
        shaped(frame, table).write.format("delta").mode("overwrite").save(self.uri(table))
        reach(f"spark.after_{table.name}")

    def merge(self, table: Table, frame: DataFrame, keys: Sequence[str], *, only: str = "", when: str = "") -> None:
        """Insert rows or replace those of equal keys; rows whose column `gone` is true are deleted.

        only: what is known of the rows that may be there (table `t`), so that files without such are not read;
        when: which equal keys are replaced (`t` and `s`). Doing it twice changes nothing.
        """
        condition = " AND ".join([*(f"t.{key} <=> s.{key}" for key in keys), *([f"({only})"] if only else [])])
        columns: dict[str, str | Column] = {name: f"s.{name}" for name in table.columns}
        if "gone" not in frame.columns:
            frame = frame.withColumn("gone", F.lit(False))
        if table.name in self._empty:  # ours alone until it is switched to; a merge costs ten times as many jobs
            self._empty.remove(table.name)
            shaped(frame.where("NOT gone"), table).write.format("delta").mode("append").save(self.uri(table))
        else:
            self._merge(table, frame, condition, columns, when)
        reach(f"spark.after_{table.name}")

    def _merge(
        self, table: Table, frame: DataFrame, condition: str, columns: dict[str, str | Column], when: str
    ) -> None:
        frame = frame.select(*(name for name in frame.columns if name in table.columns or name in ("gone", "moved")))
        merge = DeltaTable.forPath(self.spark, self.uri(table)).alias("t").merge(frame.alias("s"), condition)
        merge = merge.whenMatchedDelete("s.gone").whenMatchedUpdate(when or None, set=columns)
        merge.whenNotMatchedInsert("NOT s.gone", values=columns).execute()


def together(*steps: Callable[[], None]) -> None:
    """Take steps that do not depend on each other side by side: small ones leave a cluster idle.

    Raises the first error, when all have ended.
    """
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        for done in [pool.submit(step) for step in steps]:
            done.result()


def keep(frame: DataFrame) -> DataFrame:
    """Work a frame out now, once, and forget how: plans that grow cost more than small batches themselves."""
    return frame.localCheckpoint()


def shaped(frame: DataFrame, table: Table) -> DataFrame:
    """Return a frame with exactly the columns of a table."""
    return frame.select(*(F.col(name).cast(_spark_type(kind)) for name, kind in table.columns.items()))


def spark_schema(table: Table) -> StructType:
    """Return the Spark schema of a table; every column may be null."""
    return StructType([StructField(name, _spark_type(kind)) for name, kind in table.columns.items()])


def _spark_type(kind: Type) -> DataType:
    if isinstance(kind, ListOf):
        return ArrayType(_spark_type(kind.item))
    if isinstance(kind, StructOf):
        return StructType([StructField(name, _spark_type(part)) for name, part in kind.fields.items()])
    return _SCALARS[kind]


_SCALARS: dict[str, DataType] = {
    "string": StringType(),
    "long": LongType(),
    "int": IntegerType(),
    "boolean": BooleanType(),
    "timestamp": TimestampType(),
    "date": DateType(),
}
