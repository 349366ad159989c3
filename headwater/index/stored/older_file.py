"""Read a file of older rules as if it had the current tables. It answers questions until its successor is built."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache

from headwater.lineage.edges.complete_lists import COMPLETE

Column = tuple[str, str]
"""A column name and the SQL of its default."""

_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"

OF_OLDER = {
    ("edge_sets", "reading"): "live OR latest",
    ("edge_sets", "accounted"): "explained",
    ("votes", "weight"): "carries + 1",
    ("votes", "period_us"): "time_us",
    ("votes", "started_us"): "time_us",
    ("votes", "last_us"): "time_us",
    ("parts", "saying"): "value",
    ("seen", "authority"): str(COMPLETE),  # older rules took each list for complete
    ("bindings", "id"): "row_number() OVER (ORDER BY time_us)",
    ("edges", "read_set"): "edge_set",
    ("jobs", "newest"): (
        "(SELECT run FROM main.runs WHERE job_key = key AND kind = 'RUN' ORDER BY time_us DESC, run DESC LIMIT 1)"
    ),
    ("reads", "read_set"): "edge_set",
}
"""(table, column) → SQL expression that replaces the column in an older file."""

TABLES_OF_OLDER = {"run_keys": ("runs", "SELECT run AS id, run AS key FROM main.runs")}
"""Table → the table that replaces it in an older file, and the SELECT. Before format 8, runs had no numbers."""


def show_todays_tables(connection: sqlite3.Connection, schema: str) -> None:
    """Create temporary views that give this connection the current tables.

    Missing columns have their defaults, and missing tables are empty. The file itself does not change.
    """
    for table, columns in _tables(schema).items():
        there = {name for name, _ in _columns(connection, table)}
        if there >= {name for name, _ in columns}:
            continue
        shown = ", ".join(
            name if name in there else f"{OF_OLDER.get((table, name), default)} AS {name}" for name, default in columns
        )
        if there:
            origin = f"{_rowid(connection, table)} FROM main.{table}"
            connection.execute(f"CREATE TEMP VIEW {table} AS SELECT {shown}{origin}")
        else:
            origin, instead = TABLES_OF_OLDER.get(table, ("", ""))
            nothing = f"SELECT {shown}, 0 AS rowid WHERE false"
            rows = instead if origin and any(_columns(connection, origin)) else nothing
            connection.execute(f"CREATE TEMP VIEW {table} AS {rows}")


@cache
def _tables(schema: str) -> dict[str, list[Column]]:
    """Return the tables that a schema creates with their columns, without the internal tables of virtual ones."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema)
        virtual = [name for (name,) in made.execute(f"{_NAMES} AND sql LIKE 'CREATE VIRTUAL%'")]
        names = [name for (name,) in made.execute(f"{_NAMES} AND name NOT LIKE 'sqlite_%'")]
        return {
            name: list(_columns(made, name))
            for name in names
            if not any(name == each or name.startswith(f"{each}_") for each in virtual)
        }


def _columns(connection: sqlite3.Connection, table: str) -> Iterator[Column]:
    for _, name, _, _, default, _ in connection.execute(f"PRAGMA main.table_info({table})"):
        yield name, default or "NULL"


def _rowid(connection: sqlite3.Connection, table: str) -> str:
    """Return the SELECT expression for row ids, which a view has only if it names them."""
    with suppress(sqlite3.OperationalError):  # a table WITHOUT ROWID
        connection.execute(f"SELECT rowid FROM main.{table} LIMIT 0")
        return ", rowid AS rowid"
    return ""
