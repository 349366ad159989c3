"""Run our Spark connector and Iceberg's: `python -m tests.support.spark.connector_driver SETTINGS FOLDER`.

Statement by statement: `steps.json` says of each which lines of `events.ndjson` are about it, and what went wrong.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

Steps = dict[str, Callable[[], object]]


def main(settings: str, folder: str) -> None:
    """Run all steps."""
    builder = SparkSession.builder.appName("nightly")
    for key, value in json.loads(settings).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    at = Path(folder)
    spark.sql("SELECT id, concat('a', id) AS email, id * 2.5D AS amount FROM range(3)").write.parquet(
        str(at / "landing")
    )
    steps = journals(spark, at) | iceberg(spark, at)
    told = {name: _told(spark, at / "events.ndjson", step) for name, step in steps.items()}
    spark.stop()
    (at / "steps.json").write_text(json.dumps(told))


def _told(spark: SparkSession, events: Path, step: Callable[[], object]) -> tuple[int, int, str]:
    """Return the first line that is about a step, the one behind its last, and what went wrong."""
    before, wrong = _lines(spark, events), ""
    try:
        step()
    except Exception as error:
        wrong = str(error)
    return before, _lines(spark, events), wrong


def _lines(spark: SparkSession, events: Path) -> int:
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    return events.read_bytes().count(b"\n")


def journals(spark: SparkSession, at: Path) -> Steps:
    """Return what is done to journals."""

    def journal(name: str) -> str:
        return str(at / "journals" / name)

    def landing() -> DataFrame:
        return spark.read.schema("id long, email string, amount double").parquet(str(at / "landing"))

    def save(name: str, rows: DataFrame, mode: str = "error", **options: str) -> None:
        rows.write.format("journal").options(**options).mode(mode).save(journal(name))

    def keep(name: str, rows: DataFrame) -> None:
        rows.write.parquet(str(at / name))

    def of(function: str, name: str, columns: str = "*", *, version: int | None = None, grouped: str = "") -> DataFrame:
        arguments = f"'{journal(name)}'" + (f", {version}" if version else "")
        return spark.sql(f"SELECT {columns} FROM {function}({arguments}) {grouped}")

    def sums() -> DataFrame:
        columns = "id, sha2(email, 256) AS hash, sum(amount) AS total"
        return of("journal", "orders", columns, version=1, grouped="GROUP BY id, email")

    return {
        "relation is written": lambda: save("orders", landing()),
        "relation is written again": lambda: save("orders", landing(), "append"),
        "relation is read": lambda: keep("out_v1", spark.read.format("journal").load(journal("orders"))),
        "node is written": lambda: save("totals", sums(), node="columns"),
        "node is overwritten": lambda: save(
            "totals",
            of("journal", "orders", "id, md5(email) AS hash, amount * 2 AS total"),
            "overwrite",
            node="columns",
        ),
        "node is read": lambda: of("journal", "totals", version=1).collect(),
        "node is read by delegate": lambda: of("journal_view", "totals").collect(),
        "node is read below others": lambda: keep("out_node", of("journal", "totals", "id, total")),
        "node is written by delegate": lambda: save("copy", of("journal_view", "totals"), node="announced"),
        "table is written": lambda: landing().write.format("journal-table").mode("append").save(journal("orders")),
        "table is read": lambda: keep("out_v2", spark.read.format("journal-table").load(journal("orders"))),
    }


def iceberg(spark: SparkSession, at: Path) -> Steps:
    """Return what is done to tables of Iceberg."""

    def sql(text: str) -> Callable[[], object]:
        return lambda: spark.sql(text)

    def keep(name: str, text: str) -> Callable[[], object]:
        return lambda: spark.sql(text).write.parquet(str(at / name))

    landing = f"parquet.`{at / 'landing'}`"
    changes = "SELECT id, md5(email) AS hash, amount FROM ice.db.orders"
    return {
        "create": sql("CREATE TABLE ice.db.orders (id bigint, email string, amount double) USING iceberg"),
        "append": sql(f"INSERT INTO ice.db.orders SELECT id, email, amount FROM {landing}"),
        "ctas": sql("CREATE TABLE ice.db.totals AS SELECT id, email AS hash, amount AS total FROM ice.db.orders"),
        "replace": sql(
            "CREATE OR REPLACE TABLE ice.db.totals AS "
            "SELECT id, sha2(email, 256) AS hash, amount AS total FROM ice.db.orders"
        ),
        "merge": sql(
            f"MERGE INTO ice.db.totals t USING ({changes}) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET t.total = s.amount "
            "WHEN NOT MATCHED THEN INSERT (id, hash, total) VALUES (s.id, s.hash, s.amount)"
        ),
        "branch": sql("ALTER TABLE ice.db.orders CREATE BRANCH audit"),
        "branch is written": sql(f"INSERT INTO ice.db.orders.branch_audit SELECT id + 9, email, amount FROM {landing}"),
        "branch is read": keep("out_branch", "SELECT email FROM ice.db.orders VERSION AS OF 'audit'"),
        "metadata is read": keep("out_metadata", "SELECT snapshot_id FROM ice.db.orders.snapshots"),
        "namespace": sql("CREATE NAMESPACE mem.db"),
        "table to rename": sql(f"CREATE TABLE mem.db.before AS SELECT id FROM {landing}"),
        "rename": sql("ALTER TABLE mem.db.before RENAME TO db.after"),
        "renamed is read": keep("out_renamed", "SELECT id FROM mem.db.after"),
        "drop": sql("DROP TABLE ice.db.totals"),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
