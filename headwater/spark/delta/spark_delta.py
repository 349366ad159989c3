"""Delta tables as Spark sees them: a folder of tables that is built anew beside the old one and switched at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, Observation, SparkSession
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
from headwater.spark.delta.missing_columns import add_columns, with_nulls
from headwater.tables import ListOf, StructOf, Table, Type

TEXTS = ("parts", "contents", "said", "content", "value", "columns", "tags", "state", "body")
"""Long texts: no statistics are kept of them."""

KEPT = {
    "delta.deletedFileRetentionDuration": "interval 1 days",
    "delta.logRetentionDuration": "interval 7 days",
}
"""How long files that went out of use stay, for who reads what they were part of; and the log that tells of them."""

_SIDE_BY_SIDE = 4


class TableFolder:
    """The tables of one layer in one generation; `root` is a folder or a URI that Spark can read.

    small: what is read and written is worked out in one task, which needs no exchange between tasks; tasks: in how many
    the rules are applied to events and runs.
    """

    def __init__(self, spark: SparkSession, root: str, tables: Sequence[Table]):
        """Touch nothing yet."""
        self.spark = spark
        self.root = root
        self.small = False
        self.tasks = 1
        self._tables = {table.name: table for table in tables}

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
        for name, value in {**KEPT, "delta.enableDeletionVectors": "false"}.items():
            builder = builder.property(name, value)
        builder.execute()

    def exists(self, table: Table) -> bool:
        """Tell whether a table is there."""
        return DeltaTable.isDeltaTable(self.spark, self.uri(table))

    def uri(self, table: Table) -> str:
        """Return where a table lies."""
        return f"{self.root}/{table.name}"

    def read(self, table: Table) -> DataFrame:
        """Return a table at its newest version; columns that came since it was made are null."""
        return self.few(with_nulls(self.spark.read.format("delta").load(self.uri(table)), spark_schema(table)))

    def few(self, frame: DataFrame) -> DataFrame:
        """Return a frame in one partition where all is small."""
        return frame.coalesce(1) if self.small else frame

    def spread(self, frame: DataFrame, key: str) -> DataFrame:
        """Return a frame in as many partitions as there are tasks, rows of a key in one."""
        return frame.repartition(self.tasks, key) if self.tasks > 1 else self.few(frame)

    def once(self, frame: DataFrame) -> DataFrame:
        """Return a frame that several steps take: of few events it is worked out anew each time, cheaper than a job."""
        return self.few(keep(frame)) if self.tasks > 1 else frame

    def rows(self, table: Table, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
        """Return rows in the columns of a table."""
        return self.spark.createDataFrame(list(rows), spark_schema(table))

    def append(self, table: Table, frame: DataFrame) -> None:
        """Add rows in one commit."""
        self._write(table, frame, "append", {})

    def overwrite(self, table: Table, frame: DataFrame, *, number: int | None = None) -> None:
        """Replace all rows in one commit; with a number, only if no commit with this or a higher one was made."""
        numbered = {} if number is None else {"txnAppId": "headwater", "txnVersion": str(number)}
        self._write(table, frame, "overwrite", numbered)

    def replace(self, table: Table, frame: DataFrame, where: str) -> None:
        """Let go of the rows for which `where` holds and add others, whichever these are, in one commit.

        Needs `CHECK` to be off.
        """
        self._write(table, frame, "overwrite", {"replaceWhere": where})

    def _write(self, table: Table, frame: DataFrame, mode: str, options: Mapping[str, str]) -> None:
        with described(self.spark, f"{table.name}: {mode}"):
            shaped(frame, table).write.format("delta").mode(mode).options(**options).save(self.uri(table))
        reach(f"spark.after_{table.name}")


CHECK = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"
"""Whether what replaces rows must be where these were: an edge that ends goes from one part of its table to another."""


@contextmanager
def settings(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session for a while; it may be somebody's notebook."""
    before = {name: spark.conf.get(name, None) for name in conf}
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, old) if old is not None else spark.conf.unset(name)


@contextmanager
def described(spark: SparkSession, what: str) -> Iterator[None]:
    """Let the jobs of a step tell in Spark's own pages and logs which one they belong to."""
    before = spark.sparkContext.getLocalProperty("spark.job.description")
    spark.sparkContext.setJobDescription(f"headwater: {what}")
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type] # None: takes it away


def together(*steps: Callable[[], Any]) -> list[Any]:
    """Take steps that do not depend on each other side by side: small ones leave a cluster idle.

    Returns their results; raises the first error, when all have ended.
    """
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return [done.result() for done in [pool.submit(step) for step in steps]]


def keep(frame: DataFrame) -> DataFrame:
    """Work a frame out now, once, and forget how: plans that grow cost more than small batches themselves."""
    return frame.localCheckpoint()


def kept(frame: DataFrame, **asked: Column) -> tuple[DataFrame, Mapping[str, Any]]:
    """Keep a frame, and find out about all of it by aggregates, in the same job."""
    seen = Observation()
    found = keep(frame.observe(seen, *(column.alias(name) for name, column in asked.items())))
    return found, seen.get


def texts(column: Column) -> Column:
    """Return an aggregate: the different values of a column as JSON, as `kept` can tell them."""
    return F.to_json(F.collect_set(column))


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
