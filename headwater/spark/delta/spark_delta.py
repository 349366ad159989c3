"""Delta tables as Spark sees them: a folder of tables that is built anew beside the old one and switched at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

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

from headwater.common.failpoints import reach
from headwater.spark.delta.missing_columns import add_columns, with_nulls
from headwater.spark.delta.transactions import OtherDelta, Transactions
from headwater.tables import ListOf, StructOf, Table, Type

T = TypeVar("T")

SKIPPED_BY = ("run_key", "parent_run", "execution", "edge_key", "name", "hour")
"""Columns by which a pass leaves files out: of these alone are statistics kept, which cost every commit."""

KEPT = {
    "delta.deletedFileRetentionDuration": "interval 1 days",
    "delta.logRetentionDuration": "interval 7 days",
}
"""How long files that went out of use stay, for who reads what they were part of; and the log that tells of them."""

_OWN = "headwater"
"""The transaction of numbered commits."""

_SIDE_BY_SIDE = 4


class TableFolder:
    """The tables of one layer in one generation; `root` is a folder or a URI that Spark can read.

    small: what is read and written is worked out in one task, which needs no exchange between tasks.
    """

    def __init__(self, spark: SparkSession, root: str, tables: Sequence[Table], delta: Transactions | None = None):
        """Touch nothing yet; delta: its own classes, where these are others than usual."""
        self.spark = spark
        self.root = root
        self.small = False
        self._tables = {table.name: table for table in tables}
        self._delta = delta or Transactions(spark)

    def create(self) -> None:
        """Create the tables that are missing; protocol 1/2, so that delta-rs and Fabric can read and write them.

        Tables that an older version made get the columns that came since.
        """
        together(*(partial(self._create, table) for table in self._tables.values()))

    def _create(self, table: Table) -> None:
        statistics = ",".join(name for name in table.columns if name in SKIPPED_BY)
        if self.exists(table):
            add_columns(self.spark, self.uri(table), spark_schema(table))
            return
        builder = DeltaTable.createIfNotExists(self.spark).location(self.uri(table))
        builder = builder.addColumns(spark_schema(table)).partitionedBy(*table.partition_by)
        named = "delta.dataSkippingStatsColumns" if statistics else "delta.dataSkippingNumIndexedCols"
        for name, value in {**KEPT, named: statistics or "0", "delta.enableDeletionVectors": "false"}.items():
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

    def fixed(self, table: Table, where: Column | None = None) -> DataFrame:
        """Return a table as it is now: its files are listed at once, not by each job that reads it.

        where: files that hold no such rows by their statistics are left out.
        """
        return self._by_delta(
            lambda: self.few(with_nulls(self._delta.files(self.uri(table), where), spark_schema(table))),
            lambda: self.read(table),
        )

    def few(self, frame: DataFrame) -> DataFrame:
        """Return a frame in one partition where all is small."""
        return frame.coalesce(1) if self.small else frame

    def rows(self, table: Table, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
        """Return rows in the columns of a table."""
        return self.spark.createDataFrame(list(rows), spark_schema(table))

    def append(self, table: Table, frame: DataFrame) -> None:
        """Add rows in one commit."""
        with self._written(table, "append"):
            self._save(table, frame, "append", {})

    def overwrite(self, table: Table, frame: DataFrame, *, number: int | None = None) -> None:
        """Replace all rows in one commit; with a number, only if no commit with this or a higher one was made."""
        after = {} if number is None else {_OWN: number}
        numbered = {} if number is None else {"txnAppId": _OWN, "txnVersion": str(number)}
        with self._written(table, "overwrite"):
            self._by_delta(
                lambda: self._delta.overwrite(self.uri(table), shaped(frame, table), after),
                lambda: self._save(table, frame, "overwrite", numbered),
            )

    def change(self, table: Table, where: str, become: Callable[[DataFrame], DataFrame]) -> None:
        """Let the rows for which `where` holds become others, whichever these are, in one commit.

        Needs `CHECK` to be off.
        """
        uri, kept_where = self.uri(table), f"NOT coalesce({where}, false)"

        def all_become(rows: DataFrame) -> DataFrame:
            rows = with_nulls(rows, spark_schema(table))
            changed = become(self.few(rows.where(where)))
            return self.few(shaped(changed, table).unionByName(shaped(rows.where(kept_where), table)))

        def replaced() -> None:
            self._save(table, become(self.read(table).where(where)), "overwrite", {"replaceWhere": where})

        with self._written(table, "change"):
            self._by_delta(lambda: self._delta.change(uri, F.expr(where), all_become), replaced)

    def _by_delta(self, own: Callable[[], T], usual: Callable[[], T]) -> T:
        """Let Delta's own classes do it, where they are as they are called here, else its reader and writer."""
        if self._delta.are_there:
            with suppress(OtherDelta):
                return own()
        return usual()

    def _save(self, table: Table, frame: DataFrame, mode: str, options: Mapping[str, str]) -> None:
        shaped(frame, table).write.format("delta").mode(mode).options(**options).save(self.uri(table))

    @contextmanager
    def _written(self, table: Table, how: str) -> Iterator[None]:
        with described(self.spark, f"{table.name}: {how}"):
            yield
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
    """Work a frame out now, once, and forget how: plans that grow cost more than small batches themselves.

    Its columns are new ones to Spark, which cannot join two kept frames that share a column and have others besides.
    """
    found = frame.localCheckpoint()
    return found.select(*(F.col(f"`{name}`").alias(name) for name in found.columns))


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
