"""What a query found. Read without pyarrow, whose import costs every reader of a lake on its own disk 26 MB."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from arro3.core import ChunkedArray, RecordBatchReader
from arro3.core import Table as ArrowTable
from deltalake import DeltaTable, QueryBuilder

from headwater.errors import LakeUnavailable
from headwater.lake.new_columns import columns, with_nulls
from headwater.storage_faults import explain
from headwater.tables import Table
from headwater.tables.shared_columns import POSITION


@contextmanager
def panics_refused(uri: str) -> Iterator[None]:
    """Raise LakeUnavailable where delta-rs panics, as it does for some damaged Parquet footers.

    Its PanicException is no Exception and has no module to import it from; unhandled, it ends the process.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise LakeUnavailable(
            f"Cannot read {uri}: delta-rs gave up ({error}), because a file of the table is damaged or of a kind that "
            "it does not know. Restore the table from a copy, or run `headwater restore` with a backup."
        ) from error


class QueryRows:
    """The rows of one query."""

    def __init__(self, table: ArrowTable):
        """Keep what delta-rs gave."""
        self._table = table

    def column(self, name: str) -> ChunkedArray:
        """Return a column: `to_pylist()` has all its values, `[0].as_py()` the first."""
        return self._table.column(name)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows, each by column name."""
        names = self._table.column_names
        columns = [self._table.column(name).to_pylist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def query(handle: DeltaTable, sql: str, table: Table | None = None) -> QueryRows:
    """Run SQL over the version of a table that the handle is at, named `t`.

    table: its columns are null where the table lacks them, because no writer of this version has opened it yet.
    Raises DeltaError for SQL that does not fit the table, LakeUnavailable if a file cannot be read.
    """
    there = columns(handle) if table else ()
    missing = [(name, kind) for name, kind in table.columns.items() if name not in there] if table else []
    if lost := [name for name, _ in missing if name in POSITION]:
        raise LakeUnavailable(
            f"The Delta log of {handle.table_uri} names no column {lost[0]!r}, which every version of Headwater "
            "writes: the newest checkpoint or an entry behind it is damaged. Restore `_delta_log` from a copy."
        )
    if missing:
        found = QueryBuilder().register("stored", handle).execute(with_nulls(sql, missing))
    else:
        found = QueryBuilder().register("t", handle).execute(sql)
    try:
        return QueryRows(_read_all(found, handle.table_uri))
    except Exception as error:  # arro3 has no class of its own for what fails while reading
        raise LakeUnavailable(f"Cannot read {handle.table_uri}: {explain(error, 'lake')}") from error


def _read_all(found: RecordBatchReader, uri: str) -> ArrowTable:
    """Read every batch; over a network with pyarrow, because arro3 stops every thread while it waits."""
    if "://" not in uri or uri.startswith("file://"):
        return found.read_all()
    import pyarrow as pa  # noqa: PLC0415 - see the module

    return ArrowTable.from_arrow(pa.RecordBatchReader.from_stream(found).read_all())
