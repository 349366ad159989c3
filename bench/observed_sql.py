"""Record plain SQL with the column lineage that Spark's listener observed, when a benchmark needs it.

`python -m bench.observed_sql` runs each query of TPC-H and TPC-DS (`bench/tpc_queries.py`) and of
`bench/medallion.sql` on empty tables, and inserts its result into a new table. It writes the listener's events to
`.cache/observed-sql/`, because the TPC queries must not be part of the repository. A query that Spark
rejects is skipped and reported.

A hash of the statement's *name* (`tpcds_14`) sets half of the statements aside. The split was fixed before recording.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.statements import Statement, statement_key
from bench.tpc_queries import TpcTable, tpc_queries, tpc_tables
from tools.jars import class_path, require_java
from tools.locked_environment import ROOT

RECORDED = ROOT / ".cache" / "observed-sql"
LISTENER = "1.53.0"
OWN = Path(__file__).with_name("medallion.sql")
GROUPS = ("tpch", "tpcds", "medallion")
_TYPES = {"VARCHAR": "STRING", "INTEGER": "INT"}
_WORDLESS = re.compile(r"\W+")


class Query(NamedTuple):
    """A query and the name of the table that it fills."""

    name: str
    sql: str


def observed_statements() -> list[Statement]:
    """Return the newest event with column lineage of every statement; records missing groups first."""
    if not all(_events(group).is_file() for group in GROUPS):
        subprocess.run([sys.executable, "-m", "bench.observed_sql"], cwd=ROOT, check=True)
    found: dict[str, Statement] = {}
    for group in GROUPS:
        for line in _events(group).read_text().splitlines():
            event = json.loads(line)
            name = _filled(event)
            if name:
                found[name] = Statement(statement_key(name), event, ())
    return [found[name] for name in sorted(found)]


def _filled(event: dict[str, Any]) -> str:
    """Return the name of the statement that the column lineage in an event belongs to, or an empty string."""
    outputs = event.get("outputs") or []
    written = [each for each in outputs if (each.get("facets") or {}).get("columnLineage")]
    query = ((event["job"].get("facets") or {}).get("sql") or {}).get("query")
    return str(written[0]["name"]).rpartition("/")[2] if written and query else ""


def _events(group: str) -> Path:
    return RECORDED / f"{group}.ndjson"


def own_tables() -> list[TpcTable]:
    """Return the tables of `medallion.sql`."""
    return [TpcTable(*each) for each in re.findall(r"^-- table (\w+)\((.*)\)$", OWN.read_text(), re.MULTILINE)]


def own_queries() -> Iterator[Query]:
    """Yield the queries of `medallion.sql`."""
    for text in OWN.read_text().split("\n-- = ")[1:]:
        name, _, sql = text.partition("\n")
        yield Query(name, sql.strip())


def _of(group: str) -> tuple[list[TpcTable], list[Query]]:
    if group == "medallion":
        return own_tables(), list(own_queries())
    tables = [
        TpcTable(name, re.sub(r"\b(VARCHAR|INTEGER)\b", lambda found: _TYPES[found[0]], columns))
        for name, columns in tpc_tables(group)
    ]
    # DuckDB quotes names with double quotes, Spark with backticks
    return tables, [Query(f"{group}_{n}", sql.rstrip("; \n").replace('"', "`")) for n, sql in tpc_queries(group)]


def record(group: str) -> None:
    """Run the queries of a group with Spark and its listener; discards the files of an interrupted recording."""
    from pyspark.sql import SparkSession  # only recording needs Spark

    require_java()
    place = RECORDED / group
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    events = place / "events.ndjson"
    builder = SparkSession.builder.master("local[1]").appName("plain")
    for key, value in _settings(place, events).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    tables, queries = _of(group)
    for table, columns in tables:
        spark.sql(f"CREATE TABLE IF NOT EXISTS {table} ({columns}) USING parquet")
    rejected = {}
    for name, sql in queries:
        try:
            fields = spark.sql(sql).schema.fields
            columns = ", ".join(f"{column} {field.dataType.simpleString()}" for column, field in _named(fields))
            spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
            spark.sql(f"INSERT INTO {name}\n{sql}")
        except Exception as error:  # Spark rejects some queries of other dialects
            rejected[name] = str(error).splitlines()[0]
    spark.stop()
    for name, why in rejected.items():
        print(f"{name} is skipped: {why}")
    events.replace(_events(group))


def _named(fields: Any) -> list[tuple[str, Any]]:
    """Return column names for the result of a query: valid in Parquet, and unique."""
    names = [_WORDLESS.sub("_", field.name.casefold()).strip("_") or "value" for field in fields]
    return [
        (f"{name}_{at}" if name in names[:at] else name, field)
        for at, (name, field) in enumerate(zip(names, fields, strict=True))
    ]


def _settings(place: Path, events: Path) -> dict[str, str]:
    return {
        "spark.driver.extraClassPath": class_path(LISTENER),
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "plain",
        "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(events),
    }


def main() -> None:
    """Record the missing groups, each in a separate process; with group names as arguments, record only those."""
    for group in sys.argv[1:] or GROUPS:
        if _events(group).is_file():
            continue
        if sys.argv[1:]:
            record(group)
        else:
            subprocess.run([sys.executable, "-m", "bench.observed_sql", group], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
