"""Read and write the Delta tables of one layer with Spark."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
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

from headwater.common.failpoints import reach_failpoint
from headwater.spark.delta.missing_columns import add_columns, with_nulls
from headwater.spark.delta.transactions import DeltaCommits, DeltaInternalsMissing
from headwater.tables import ListOf, StructOf, Table, Type

T = TypeVar("T")

STATISTICS_COLUMNS = ("run_key", "parent_run", "execution", "edge_key", "name", "hour")
"""Columns for which Delta writes file statistics. A pass skips files by them; more columns would slow down commits."""

RETENTION_PROPERTIES = {
    "delta.deletedFileRetentionDuration": "interval 1 days",
    "delta.logRetentionDuration": "interval 7 days",
}
"""Delta properties: how long Delta keeps unused files, for readers of older versions, and entries of its log."""

_APP_ID = "headwater"
"""Application id of the transactions that record the number of a commit (`number` of `append` and `overwrite`)."""

_MAX_CONCURRENT = 4

TASK_BYTES = 32 << 20
"""Bytes of table files that one task reads. With smaller tasks, exchanging rows costs more than parallelism saves."""


class Partition(NamedTuple):
    """The rows of one partition of a table.

    size: bytes of the partition's files, or 0 if Delta's internal classes are not available.
    """

    rows: DataFrame
    size: int


class TableFolder:
    """The tables of one layer in one generation.

    root: the folder or URI of the tables, readable by Spark.
    small: one task processes all rows of a batch, so tasks exchange no rows.
    task_bytes: bytes of table files that one task reads.
    """

    def __init__(self, spark: SparkSession, root: str, tables: Sequence[Table], delta: DeltaCommits | None = None):
        """delta: access to Delta's internal classes; by default, `DeltaCommits` of the session."""
        self.spark = spark
        self.root = root
        self.small = False
        self.task_bytes = TASK_BYTES
        self._tables = {table.name: table for table in tables}
        self._delta = delta or DeltaCommits(spark)

    def create(self) -> None:
        """Create missing tables, and add missing columns to existing tables.

        Tables have protocol 1/2, so that delta-rs and Fabric can read and write them.
        """
        run_concurrently(*(partial(self._create, table) for table in self._tables.values()))

    def _create(self, table: Table) -> None:
        statistics = ",".join(name for name in table.columns if name in STATISTICS_COLUMNS)
        if self.exists(table):
            add_columns(self.spark, self.uri(table), spark_schema(table))
            return
        builder = DeltaTable.createIfNotExists(self.spark).location(self.uri(table))
        builder = builder.addColumns(spark_schema(table)).partitionedBy(*table.partition_by)
        named = "delta.dataSkippingStatsColumns" if statistics else "delta.dataSkippingNumIndexedCols"
        for name, value in {
            **RETENTION_PROPERTIES,
            named: statistics or "0",
            "delta.enableDeletionVectors": "false",
        }.items():
            builder = builder.property(name, value)
        builder.execute()

    def exists(self, table: Table) -> bool:
        """Return whether a table exists."""
        return DeltaTable.isDeltaTable(self.spark, self.uri(table))

    def uri(self, table: Table) -> str:
        """Return the path or URI of a table."""
        return f"{self.root}/{table.name}"

    def read(self, table: Table) -> DataFrame:
        """Return the rows of a table's newest version, in one task if `small`. Columns that it lacks are null."""
        return self.coalesce_if_small(self.scan(table))

    def scan(self, table: Table) -> DataFrame:
        """Return the rows of a table like `read`, but let Spark divide its files among tasks even if `small`."""
        return with_nulls(self.spark.read.format("delta").load(self.uri(table)), spark_schema(table))

    def rows_with_keys(
        self,
        rows: DataFrame,
        keys: DataFrame,
        by: Sequence[str],
        how: str = "left_semi",
        *,
        size: int,
        nulls: bool = False,
    ) -> DataFrame:
        """Return the rows whose values in the columns `by` occur in `keys` (`left_semi`) or do not (`left_anti`).

        Spark puts the keys into a hash table and therefore does not sort the rows.

        size: bytes of the files that contain `rows`. If they exceed `task_bytes` in a `small` batch, Spark broadcasts
        the keys to all tasks that scan the files. nulls: treat nulls as equal, which is slower.
        """
        equal = F.expr(" AND ".join(f"t.{key} {'<=>' if nulls else '='} k.{key}" for key in by))
        wanted = keys.select(*by).alias("k")
        if not self.small or size <= self.task_bytes:
            return self.coalesce_if_small(rows).alias("t").join(wanted.hint("shuffle_hash"), equal, how)
        found = rows.alias("t").join(F.broadcast(wanted), equal, how)
        return found.repartition(1) if how == "left_semi" else found

    def read_listing_files_once(self, table: Table, where: Column | None = None) -> DataFrame:
        """Return the rows of a table's current version. Lists the table's files once, not in each job that reads them.

        where: if set, files are skipped if their statistics show that no row matches the condition. The returned rows
        may still include rows that do not match.
        """
        return self._call_with_fallback(
            lambda: self.coalesce_if_small(
                with_nulls(self._delta.read_current_version(self.uri(table), where), spark_schema(table))
            ),
            lambda: self.read(table),
        )

    def rows_by_partition(self, table: Table) -> Mapping[str, Partition]:
        """Return the rows of a table's newest version, by value of its only partition column. Lists its files once."""
        (column,) = table.partition_by

        def by_internals() -> Mapping[str, Partition]:
            found = self._delta.partition_files(self.uri(table), column)
            return {
                value: Partition(with_nulls(part.rows, spark_schema(table)), part.size) for value, part in found.items()
            }

        def by_writer() -> Mapping[str, Partition]:
            rows = self.scan(table)
            values = [row[0] for row in rows.select(column).distinct().collect()]
            return {value: Partition(rows.where(F.col(column) == value), 0) for value in values}

        return self._call_with_fallback(by_internals, by_writer)

    def coalesce_by_size(self, frame: DataFrame, size: int) -> DataFrame:
        """Coalesce a frame to one partition if the batch is `small` and the frame's files fit one task.

        size: bytes of the files that the frame reads.
        """
        return self.coalesce_if_small(frame) if size <= self.task_bytes else frame

    def coalesce_if_small(self, frame: DataFrame) -> DataFrame:
        """Coalesce a frame to one partition if the batch is `small`."""
        return frame.coalesce(1) if self.small else frame

    def frame_of_rows(self, table: Table, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
        """Create a frame with the columns of a table from rows, which are tuples in column order."""
        return self.spark.createDataFrame(list(rows), spark_schema(table))

    def append(self, table: Table, frame: DataFrame, *, number: int | None = None) -> None:
        """Append rows in one commit. With a number, do nothing if a commit with this or a higher number exists."""
        with self._write_step(table, "append"):
            if number is None:
                self._save(table, frame, "append", {})
            else:
                self._write_numbered(table, frame, "append", number)

    def overwrite(self, table: Table, frame: DataFrame, *, number: int | None = None) -> None:
        """Replace all rows in one commit. With a number, do nothing if a commit with this or a higher number exists."""
        with self._write_step(table, "overwrite"):
            self._write_numbered(table, frame, "overwrite", number)

    def _write_numbered(self, table: Table, frame: DataFrame, mode: str, number: int | None) -> None:
        after = {} if number is None else {_APP_ID: number}
        options = {} if number is None else {"txnAppId": _APP_ID, "txnVersion": str(number)}
        rows = conform(frame, table)
        self._call_with_fallback(
            lambda: self._delta.overwrite(self.uri(table), rows, after, appends=mode == "append"),
            lambda: self._save(table, frame, mode, options),
        )

    def replace_rows(self, table: Table, where: str, replacement: Callable[[DataFrame], DataFrame]) -> None:
        """Replace the rows that the SQL condition `where` selects, in one commit.

        replacement: takes the selected rows and returns the new rows. The session setting `REPLACE_WHERE_CHECK` must be
        off, because the new rows need not match the condition.
        """
        uri, kept_where = self.uri(table), f"NOT coalesce({where}, false)"

        def changed_and_kept(rows: DataFrame) -> DataFrame:
            rows = with_nulls(rows, spark_schema(table))
            size = scanned_bytes(rows)
            changed = replacement(self.coalesce_by_size(rows.where(where), size))
            return self.coalesce_by_size(
                conform(changed, table).unionByName(conform(rows.where(kept_where), table)), size
            )

        def write_replacement() -> None:
            self._save(table, replacement(self.read(table).where(where)), "overwrite", {"replaceWhere": where})

        with self._write_step(table, "change"):
            self._call_with_fallback(
                lambda: self._delta.change(uri, F.expr(where), changed_and_kept), write_replacement
            )

    def _call_with_fallback(self, by_internals: Callable[[], T], by_writer: Callable[[], T]) -> T:
        """Call `by_internals`, which uses Delta's internal classes. If these are not available, call `by_writer`."""
        if self._delta.is_available:
            with suppress(DeltaInternalsMissing):
                return by_internals()
        return by_writer()

    def _save(self, table: Table, frame: DataFrame, mode: str, options: Mapping[str, str]) -> None:
        conform(frame, table).write.format("delta").mode(mode).options(**options).save(self.uri(table))

    @contextmanager
    def _write_step(self, table: Table, how: str) -> Iterator[None]:
        with job_description(self.spark, f"{table.name}: {how}"):
            yield
        reach_failpoint(f"spark.after_{table.name}")


REPLACE_WHERE_CHECK = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"
"""Spark setting that makes Delta check new rows against the condition `replaceWhere` of their write.

Passes turn it off, because edges that end move to another partition (`part`).
"""


@contextmanager
def spark_settings(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session and restore the old values at the end. The session may be that of a user's notebook.

    conf: the new values by name.
    """
    before = {name: spark.conf.get(name, None) for name in conf}
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, old) if old is not None else spark.conf.unset(name)


@contextmanager
def job_description(spark: SparkSession, what: str) -> Iterator[None]:
    """Describe the Spark jobs of a step as `headwater: WHAT` in Spark's UI and logs."""
    before = spark.sparkContext.getLocalProperty("spark.job.description")
    spark.sparkContext.setJobDescription(f"headwater: {what}")
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type] # None removes it


def run_concurrently(*steps: Callable[[], Any]) -> list[Any]:
    """Run independent steps at the same time, because one small step leaves most of a cluster idle.

    Returns the results in the order of the steps. Raises the first error after all steps have ended.
    """
    with ThreadPoolExecutor(_MAX_CONCURRENT) as pool:
        return [done.result() for done in [pool.submit(step) for step in steps]]


def checkpoint(frame: DataFrame) -> DataFrame:
    """Compute a frame once and forget its plan, because growing plans cost more than small batches.

    The columns get new ids (`with_new_ids`), so that Spark can join the frame with other checkpoints.
    """
    return with_new_ids(frame.localCheckpoint())


def with_new_ids(frame: DataFrame) -> DataFrame:
    """Give the columns of a frame new expression ids.

    Spark joins a checkpointed frame with frames derived from it only if the ids differ.
    """
    return frame.select(*(F.col(f"`{name}`").alias(name) for name in frame.columns))


def checkpoint_with_aggregates(frame: DataFrame, **aggregates: Column) -> tuple[DataFrame, Mapping[str, Any]]:
    """Compute a frame like `checkpoint`, and aggregates over its rows in the same job.

    Returns the frame, and the value of each aggregate by its name in `aggregates`.
    """
    observation = Observation()
    found = checkpoint(frame.observe(observation, *(column.alias(name) for name, column in aggregates.items())))
    return found, observation.get


def scanned_bytes(frame: DataFrame) -> int:
    """Return the bytes of the files that Delta selects for the first table that a frame reads. Runs no Spark job."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    while not plan.children().isEmpty():
        plan = plan.children().head()
    return int(str(plan.stats().sizeInBytes()))


def distinct_values_json(column: Column) -> Column:
    """Return an aggregate for `checkpoint_with_aggregates`: the distinct values of a column as a JSON list."""
    return F.to_json(F.collect_set(column))


def conform(frame: DataFrame, table: Table) -> DataFrame:
    """Return a frame with exactly the columns of a table, cast to the types of the table."""
    return frame.select(*(F.col(name).cast(_spark_type(kind)) for name, kind in table.columns.items()))


def spark_schema(table: Table) -> StructType:
    """Return the Spark schema of a table. All columns are nullable."""
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
