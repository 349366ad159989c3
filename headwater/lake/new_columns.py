"""Columns of a newer version: added to existing tables, and null for readers until then."""

from collections.abc import Sequence

from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError

from headwater.tables import Table, Type

_ARROW = {
    "string": "Utf8",
    "long": "Int64",
    "int": "Int32",
    "boolean": "Boolean",
    "timestamp": 'Timestamp(Microsecond, Some("UTC"))',
    "date": "Date32",
}


def columns(handle: DeltaTable) -> set[str]:
    """Return the column names of the handle's version."""
    return {field.name for field in handle.schema().fields}


def add_columns(handle: DeltaTable, table: Table) -> bool:
    """Add missing columns in one commit, if there are any.

    Returns False after a conflict; then call it again with a new handle.
    """
    from headwater.lake.arrow_batches import arrow_schema  # noqa: PLC0415 - see `delta`

    there = columns(handle)
    missing = [field for field in Schema.from_arrow(arrow_schema(table)).fields if field.name not in there]
    try:
        if missing:
            handle.alter.add_columns(missing)
    except CommitFailedError:
        return False
    return True


def with_nulls(sql: str, missing: Sequence[tuple[str, Type]]) -> str:
    """Rewrite SQL over `t` to SQL over `stored`, a table that lacks some columns."""
    nulls = ", ".join(f'{_null(kind)} AS "{name}"' for name, kind in missing)
    return f"WITH t AS (SELECT *, {nulls} FROM stored) {sql}"


def _null(kind: Type) -> str:
    return f"arrow_cast(NULL, '{_ARROW[kind]}')" if isinstance(kind, str) else "NULL"
