"""Move files that the Spark plugin wrote next to its table into the table.

The plugin writes such a file when its session stops, because a stopping context cannot commit to Delta.
"""

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.storage_place import StoragePlace

FOLDER = "_headwater"
"""Folder of these files in the table's folder. The plugin's class `LakeFolder` uses the same name."""

_SUFFIX = ".ndjson"
_BODY = ',"body":"'
_END = '"}'
_TEXTS = ("id", "application_id", "application_name", "executor_id", "method", "path")
_HEAD = ", ".join(f"{name} string" for name in (*_TEXTS, "received_at")) + ", headers map<string, string>"


def leftover_batches(spark: SparkSession, table: str) -> list[str]:
    """Return the ids of the batches in leftover files, one per file. table: path or URI of the plugin's table."""
    names = StoragePlace(spark, f"{table}/{FOLDER}").names()
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and not name.startswith("."))


def commit_leftovers(spark: SparkSession, table: str) -> None:
    """Move the leftover files of a table into it, each batch once, like the plugin's next flush.

    The commit has the same Delta transaction id as a flush. If a session moves the same file at the same time, the
    table still gets its rows only once.
    """
    place = StoragePlace(spark, f"{table}/{FOLDER}")
    for batch in leftover_batches(spark, table):
        rows = _rows(spark.read.text(f"{table}/{FOLDER}/{batch}{_SUFFIX}"))
        writer = rows.coalesce(1).write.format("delta").mode("append")
        writer = writer.option("txnAppId", f"headwater-plugin/{batch}").option("txnVersion", "1")
        if not DeltaTable.isDeltaTable(spark, table):  # create it like the plugin
            writer = writer.partitionBy("dt").option("delta.enableDeletionVectors", "false")
        writer.save(table)
        place.remove(batch + _SUFFIX)


def _rows(lines: DataFrame) -> DataFrame:
    """Convert lines to rows of the table, and ignore an incomplete line that a killed process left.

    The body is removed before the rest is parsed, because Spark's JSON parser rejects strings of more than 20 million
    characters.
    """
    whole = lines.where(F.col("value").endswith(_END) & F.col("value").contains(_BODY))
    tail = F.substring_index("value", _BODY, -1)  # base64 contains no quotes
    head = F.expr(f"substring(value, 1, length(value) - length(tail) - {len(_BODY)}) || '}}'")
    decoded = whole.withColumn("tail", tail).select(F.from_json(head, _HEAD).alias("row"), "tail")
    body = F.unbase64(F.expr(f"substring(tail, 1, length(tail) - {len(_END)})"))
    return decoded.select(
        *(f"row.{name}" for name in (*_TEXTS, "headers")),
        F.col("row.received_at").cast("timestamp").alias("received_at"),
        body.alias("body"),
        F.col("row.received_at").substr(1, 10).cast("date").alias("dt"),
    )
