"""Load the queries and schemas of TPC-H and TPC-DS.

The queries belong to TPC, so the repository does not contain them. They are part of DuckDB's extensions, which are
installed as packages (`duckdb-extension-tpch`, `duckdb-extension-tpcds`). Loading them downloads nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import files
from typing import Any, NamedTuple

import duckdb

from headwater.lineage.sql.tables import RunTable

_MAKES = {"tpch": "CALL dbgen(sf=0)", "tpcds": "CALL dsdgen(sf=0)"}


class TpcInsert(NamedTuple):
    """A query as an INSERT statement. The last of `tables` is its target."""

    name: str
    sql: str
    tables: tuple[RunTable, ...]


class TpcTable(NamedTuple):
    """A table: its name, and its columns in the syntax of CREATE TABLE."""

    name: str
    columns: str


def tpc_inserts() -> Iterator[TpcInsert]:
    """Yield the 22 queries of TPC-H and the 99 of TPC-DS."""
    for benchmark in _MAKES:
        with _database(benchmark) as database:
            tables = list(_tables(database))
            for number, query in _queries(database, benchmark):
                columns = [row[0] for row in database.execute(f"DESCRIBE {query}").fetchall()]
                result = RunTable(("result",), tuple(columns), is_input=False, is_output=True)
                yield TpcInsert(f"{benchmark} {number}", f"INSERT INTO result {query}", (*tables, result))


def tpc_queries(benchmark: str) -> list[tuple[int, str]]:
    """Return the queries of `tpch` or `tpcds` with their numbers, in DuckDB's dialect."""
    with _database(benchmark) as database:
        return _queries(database, benchmark)


def tpc_tables(benchmark: str) -> list[TpcTable]:
    """Return the tables of the queries, with DuckDB's types."""
    with _database(benchmark) as database:
        column = "column_name || ' ' || data_type"
        return [TpcTable(*row) for row in _per_table(database, f"string_agg({column}, ', ' ORDER BY ordinal_position)")]


@contextmanager
def _database(benchmark: str) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as database:
        database.execute(f"LOAD '{_extension(benchmark)}'")
        database.execute(_MAKES[benchmark])
        yield database


def _queries(database: duckdb.DuckDBPyConnection, benchmark: str) -> list[tuple[int, str]]:
    return database.execute(f"SELECT query_nr, query FROM {benchmark}_queries()").fetchall()


def _extension(benchmark: str) -> str:
    package = f"duckdb-extension-{benchmark}"
    return next(str(path.locate()) for path in files(package) or () if path.suffix == ".duckdb_extension")


def _tables(database: duckdb.DuckDBPyConnection) -> Iterator[RunTable]:
    for name, columns in _per_table(database, "list(column_name ORDER BY ordinal_position)"):
        yield RunTable((name,), tuple(columns), is_input=True, is_output=False)


def _per_table(database: duckdb.DuckDBPyConnection, aggregate: str) -> list[tuple[str, Any]]:
    return sorted(
        database.execute(f"SELECT table_name, {aggregate} FROM information_schema.columns GROUP BY ALL").fetchall()
    )
