"""Plain SQL with the column lineage that Spark's listener observed: recorded by the real ones when it is asked for.

`python -m bench.observed_sql`: each query of TPC-H and TPC-DS (`bench/tpc_queries.py`) and each of
`bench/medallion.sql` fills a table of its own from empty ones; the listener's events go to `.cache/observed-sql/`, as
TPC's texts are not ours to hand on. A query that Spark refuses is left out and reported.

The split was fixed before anything was recorded: by the key of a statement's *name* (`tpcds_14`), half is set aside.
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
    """A query, and the name of the table that it fills."""

    name: str
    sql: str


def observed_statements() -> list[Statement]:
    """Return every statement that Spark took, by its newest event with column lineage; records what is not there."""
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
    """Return the name of the statement whose columns an event tells, or nothing."""
    outputs = event.get("outputs") or []
    told = [each for each in outputs if (each.get("facets") or {}).get("columnLineage")]
    query = ((event["job"].get("facets") or {}).get("sql") or {}).get("query")
    return str(told[0]["name"]).rpartition("/")[2] if told and query else ""


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
    # DuckDB quotes a name as the standard says, Spark by its own mark
    return tables, [Query(f"{group}_{n}", sql.rstrip("; \n").replace('"', "`")) for n, sql in tpc_queries(group)]


def record(group: str) -> None:
    """Run the queries of a group under Spark and its listener, from the first one on, whatever was cut off before."""
    from pyspark.sql import SparkSession  # who reads what is recorded needs no Spark

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
    refused = {}
    for name, sql in queries:
        try:
            fields = spark.sql(sql).schema.fields
            columns = ", ".join(f"{column} {field.dataType.simpleString()}" for column, field in _named(fields))
            spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
            spark.sql(f"INSERT INTO {name}\n{sql}")
        except Exception as error:  # whatever Spark says of a dialect that is not its own
            refused[name] = str(error).splitlines()[0]
    spark.stop()
    for name, why in refused.items():
        print(f"{name} is left out: {why}")
    events.replace(_events(group))


def _named(fields: Any) -> list[tuple[str, Any]]:
    """Return the columns of a table for what a query gives: names that Parquet takes, each once."""
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
    """Record what is not there, each group by a session of its own; with a group's name, that one."""
    for group in sys.argv[1:] or GROUPS:
        if _events(group).is_file():
            continue
        if sys.argv[1:]:
            record(group)
        else:
            subprocess.run([sys.executable, "-m", "bench.observed_sql", group], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
