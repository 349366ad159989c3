"""Reads an index file of older rules as if it had the current tables, until a file of the current rules is built."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from functools import cache

from headwater.lineage.edges.schema_history import COMPLETE_LIST

Column = tuple[str, str]
"""(column name, SQL of the column's default)."""

_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"

OF_OLDER = {
    ("edge_sets", "reading"): "live OR latest",
    ("edge_sets", "accounted"): "explained",
    ("candidates", "weight"): "carries + 1",
    ("candidates", "period_us"): "time_us",
    ("candidates", "started_us"): "time_us",
    ("candidates", "last_us"): "time_us",
    ("schema_mentions", "authority"): str(COMPLETE_LIST),  # older rules took each list for complete
    ("bindings", "id"): "row_number() OVER (ORDER BY time_us)",
    ("edges", "read_set"): "edge_set",
    ("jobs", "newest"): (
        "(SELECT run FROM main.runs WHERE job_key = key AND kind = 'RUN' ORDER BY time_us DESC, run DESC LIMIT 1)"
    ),
    ("reads", "read_set"): "edge_set",
}
"""(table, column) → the SQL expression that replaces the column if an older file lacks it."""

RENAMED_TABLES = {
    "candidates": "votes",
    "job_outputs": "groups",
    "event_contents": "sayings",
    "dataset_uses": "mentions",
    "event_facts": "parts",
    "schema_sources": "lenders",
    "partitioned_names": "parted",
    "schema_mentions": "seen",
    "complete_schema_mentions": "seen_whole",
    "dataset_changes": "lives",
    "run_events": "happened",
    "partitions": "places",
    "facet_set_uses": "described",
    "search_entries": "things",
    "search_words": "words",
    "search_weights": "weights",
}
"""Current table name → the name of the table before format 19."""

RENAMED_COLUMNS = {
    ("candidates", "job_output"): ("grp",),
    ("candidates", "rows_confirmed"): ("landed",),
    ("edge_sets", "job_output"): ("grp",),
    ("event_facts", "content"): ("saying", "value"),
    ("event_facts", "facet_names"): ("told",),
    ("runs", "datasets"): ("said",),
    ("search_entries", "text"): ("own",),
    ("jobs", "display_name"): ("shown",),
    ("jobs", "is_parent"): ("named",),
    ("datasets", "shown_schema"): ("shown",),
}
"""(table, column) → the older names of the column, newest first."""

TABLES_OF_OLDER = {"run_keys": ("runs", "SELECT run AS id, run AS key FROM main.runs")}
"""Table → (the table that an older file has instead, the SELECT from this table).

Before format 8, runs had no numbers.
"""


def create_current_views(connection: sqlite3.Connection, schema: str) -> None:
    """Create temporary views, so that queries of this connection can use the current tables and columns.

    Missing columns have their defaults, and missing tables are empty. The file itself does not change. schema: the SQL
    that creates the current tables.
    """
    for table, columns in _tables_of_schema(schema).items():
        origin, stored = table, {name for name, _ in _table_columns(connection, table)}
        if not stored and table in RENAMED_TABLES:
            origin = RENAMED_TABLES[table]
            stored = {name for name, _ in _table_columns(connection, origin)}
        if origin == table and stored >= {name for name, _ in columns}:
            continue
        shown = ", ".join(_select_expression(table, column, stored) for column in columns)
        if stored:
            rows = f"SELECT {shown}{_rowid_expression(connection, origin)} FROM main.{origin}"
        else:
            replaced, rows = TABLES_OF_OLDER.get(table, ("", ""))
            if not replaced or not any(_table_columns(connection, replaced)):
                rows = f"SELECT {shown}, 0 AS rowid WHERE false"
        connection.execute(f"CREATE TEMP VIEW {table} AS {rows}")


def _select_expression(table: str, column: Column, stored: Collection[str]) -> str:
    """Return the SELECT expression for a current column. stored: the columns of the table in the file."""
    name, default = column
    if name in stored:
        return name
    older = (each for each in RENAMED_COLUMNS.get((table, name), ()) if each in stored)
    return f"{next(older, OF_OLDER.get((table, name), default))} AS {name}"


@cache
def _tables_of_schema(schema: str) -> dict[str, list[Column]]:
    """Return the columns of the tables that a schema creates, by table. Virtual tables are left out."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema)
        virtual = [name for (name,) in made.execute(f"{_NAMES} AND sql LIKE 'CREATE VIRTUAL%'")]
        names = [name for (name,) in made.execute(f"{_NAMES} AND name NOT LIKE 'sqlite_%'")]
        return {
            name: list(_table_columns(made, name))
            for name in names
            if not any(name == each or name.startswith(f"{each}_") for each in virtual)
        }


def _table_columns(connection: sqlite3.Connection, table: str) -> Iterator[Column]:
    for _, name, _, _, default, _ in connection.execute(f"PRAGMA main.table_info({table})"):
        yield name, default or "NULL"


def _rowid_expression(connection: sqlite3.Connection, table: str) -> str:
    """Return the SELECT expression for row ids, because a view has row ids only if its SELECT names them.

    Returns "" for a table without row ids.
    """
    with suppress(sqlite3.OperationalError):  # a table WITHOUT ROWID
        connection.execute(f"SELECT rowid FROM main.{table} LIMIT 0")
        return ", rowid AS rowid"
    return ""
