"""The queries of TPC-H and TPC-DS, with the schemas that they are asked of.

Their texts are TPC's and are not ours to hand on: DuckDB's extensions have them, as packages that a set-up installs
(`duckdb-extension-tpch`, `duckdb-extension-tpcds`). Nothing is downloaded when they are loaded.
"""

from collections.abc import Iterator
from importlib.metadata import files
from typing import NamedTuple

import duckdb

from headwater.lineage.inferring.known_tables import KnownTable

_MAKES = {"tpch": "CALL dbgen(sf=0)", "tpcds": "CALL dsdgen(sf=0)"}


class TpcInsert(NamedTuple):
    """A query as what fills a table, the last of `tables`."""

    name: str
    sql: str
    tables: tuple[KnownTable, ...]


def tpc_inserts() -> Iterator[TpcInsert]:
    """Yield the 22 queries of TPC-H and the 99 of TPC-DS."""
    for benchmark, makes_tables in _MAKES.items():
        with duckdb.connect() as database:
            database.execute(f"LOAD '{_extension(benchmark)}'")
            database.execute(makes_tables)
            tables = list(_tables(database))
            for number, query in database.execute(f"SELECT query_nr, query FROM {benchmark}_queries()").fetchall():
                columns = [row[0] for row in database.execute(f"DESCRIBE {query}").fetchall()]
                result = KnownTable(("result",), tuple(columns), is_input=False, is_output=True)
                yield TpcInsert(f"{benchmark} {number}", f"INSERT INTO result {query}", (*tables, result))


def _extension(benchmark: str) -> str:
    package = f"duckdb-extension-{benchmark}"
    return next(str(path.locate()) for path in files(package) or () if path.suffix == ".duckdb_extension")


def _tables(database: duckdb.DuckDBPyConnection) -> Iterator[KnownTable]:
    rows = database.execute(
        "SELECT table_name, list(column_name ORDER BY ordinal_position) FROM information_schema.columns GROUP BY ALL"
    ).fetchall()
    for name, columns in sorted(rows):
        yield KnownTable((name,), tuple(columns), is_input=True, is_output=False)
