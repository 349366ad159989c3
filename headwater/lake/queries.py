"""Runs SQL queries and reads their results without pyarrow, which saves readers of a local lake 26 MB.

The first writer of a newer version adds the new columns to existing tables. Until then, readers get null for them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Any

from arro3.core import ChunkedArray, RecordBatchReader
from arro3.core import Table as ArrowTable
from deltalake import DeltaTable, QueryBuilder, Schema
from deltalake.exceptions import CommitFailedError

from headwater.common.errors import LakeUnavailable
from headwater.common.storage_faults import explain_storage_error
from headwater.tables import Table, Type
from headwater.tables.shape import POSITION

_ARROW = {
    "string": "Utf8",
    "long": "Int64",
    "int": "Int32",
    "boolean": "Boolean",
    "timestamp": 'Timestamp(Microsecond, Some("UTC"))',
    "date": "Date32",
}


@contextmanager
def translate_panics(uri: str) -> Iterator[None]:
    """Raise LakeUnavailable if delta-rs panics, for example at a damaged Parquet footer.

    Its PanicException is a BaseException and cannot be imported; unhandled, it would end the process.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise LakeUnavailable(
            f"Cannot read {uri}: delta-rs failed ({error}), because a file of the table is damaged or has an unknown "
            "format. Restore the table from a copy, or run `headwater restore` with a backup."
        ) from error


class QueryRows:
    """The rows of one query."""

    def __init__(self, table: ArrowTable):
        """table: the result of a query of delta-rs."""
        self._table = table

    def column(self, name: str) -> ChunkedArray:
        """Return a column: `to_pylist()` returns all its values, `[0].as_py()` the first."""
        return self._table.column(name)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries by column name."""
        names = self._table.column_names
        columns = [self._table.column(name).to_pylist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def run_query(handle: DeltaTable, sql: str, table: Table | None = None) -> QueryRows:
    """Run SQL over the handle's version of a table. The SQL refers to the table as `t`.

    table: the definition of the table. Columns that the stored table lacks are null. None: only stored columns exist.
    Raises DeltaError for SQL that does not fit the table, LakeUnavailable if a file cannot be read.
    """
    there = column_names(handle) if table else ()
    missing = [(name, kind) for name, kind in table.columns.items() if name not in there] if table else []
    if lost := [name for name, _ in missing if name in POSITION]:
        raise LakeUnavailable(
            f"The Delta log of {handle.table_uri} has no column {lost[0]!r}, which every version of Headwater writes: "
            "the newest checkpoint or a later entry is damaged. Restore `_delta_log` from a copy."
        )
    if missing:
        found = QueryBuilder().register("stored", handle).execute(sql_with_nulls(sql, missing))
    else:
        found = QueryBuilder().register("t", handle).execute(sql)
    try:
        return QueryRows(_read_all(found, handle.table_uri))
    except Exception as error:  # arro3 has no specific class for read errors
        raise LakeUnavailable(f"Cannot read {handle.table_uri}: {explain_storage_error(error, 'lake')}") from error


def _read_all(found: RecordBatchReader, uri: str) -> ArrowTable:
    """Read all batches. Uses pyarrow for remote tables, because arro3 blocks every thread while it waits for data."""
    if "://" not in uri or uri.startswith("file://"):
        return found.read_all()
    import pyarrow as pa  # noqa: PLC0415 - see the module

    return ArrowTable.from_arrow(pa.RecordBatchReader.from_stream(found).read_all())


def column_names(handle: DeltaTable) -> set[str]:
    """Return the column names of the handle's version."""
    return {field.name for field in handle.schema().fields}


def add_columns(handle: DeltaTable, table: Table) -> bool:
    """Add the columns of the definition that the stored table lacks, in one commit.

    Returns False after a conflict. The caller must then call it again with a new handle.
    """
    from headwater.lake.arrow_batches import arrow_schema  # noqa: PLC0415 - see `delta_table`

    there = column_names(handle)
    missing = [field for field in Schema.from_arrow(arrow_schema(table)).fields if field.name not in there]
    try:
        if missing:
            handle.alter.add_columns(missing)
    except CommitFailedError:
        return False
    return True


def sql_with_nulls(sql: str, missing: Sequence[tuple[str, Type]]) -> str:
    """Rewrite SQL over `t` to SQL over `stored`, a table without the missing columns. These are null in `t`."""
    nulls = ", ".join(f'{_null_sql(kind)} AS "{name}"' for name, kind in missing)
    return f"WITH t AS (SELECT *, {nulls} FROM stored) {sql}"


def _null_sql(kind: Type) -> str:
    return f"arrow_cast(NULL, '{_ARROW[kind]}')" if isinstance(kind, str) else "NULL"


def quote_sql(text: str) -> str:
    """Return a text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def day_of(time_us: int) -> date:
    """Return the day (UTC) of a time (us), as in column `received_date`, by which bronze is partitioned."""
    return datetime.fromtimestamp(time_us / 1e6, UTC).date()
