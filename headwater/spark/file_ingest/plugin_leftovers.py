"""Move the events in files that the Spark plugin wrote next to its table into the table.

The plugin writes such a file when its session stops, because a stopping Spark context cannot commit to Delta.
"""

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.storage_place import StoragePlace

FOLDER = "_headwater"
"""Name of the folder with these files in the table's folder. The plugin's class `LakeFolder` uses the same name."""

_SUFFIX = ".ndjson"
_BODY = ',"body":"'
_END = '"}'
_TEXTS = ("id", "application_id", "application_name", "executor_id", "method", "path")
_HEAD = ", ".join(f"{name} string" for name in (*_TEXTS, "received_at")) + ", headers map<string, string>"


def leftover_batches(spark: SparkSession, table: str) -> list[str]:
    """Return the ids of the batches in leftover files. Each file contains one batch.

    table: path or URI of the plugin's table, which need not exist yet.
    """
    names = StoragePlace(spark, f"{table}/{FOLDER}").names()
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and not name.startswith("."))


def commit_leftovers(spark: SparkSession, table: str) -> None:
    """Append the batches in the leftover files to the plugin's table, each once, and delete the files.

    The plugin's next flush does the same, with the same Delta transaction id. If it moves a file at the same time, the
    table still gets the rows of this file only once. Creates the table if it does not exist.
    """
    place = StoragePlace(spark, f"{table}/{FOLDER}")
    for batch in leftover_batches(spark, table):
        rows = _leftover_rows(spark.read.text(f"{table}/{FOLDER}/{batch}{_SUFFIX}"))
        writer = rows.coalesce(1).write.format("delta").mode("append")
        writer = writer.option("txnAppId", f"headwater-plugin/{batch}").option("txnVersion", "1")
        if not DeltaTable.isDeltaTable(spark, table):  # create it like the plugin
            writer = writer.partitionBy("dt").option("delta.enableDeletionVectors", "false")
        writer.save(table)
        place.remove(batch + _SUFFIX)


def _leftover_rows(lines: DataFrame) -> DataFrame:
    """Convert the lines of leftover files to rows of the table. Ignores incomplete lines that a killed process left.

    The body of a line is removed before the rest of the line is parsed, because Spark's JSON parser rejects strings of
    more than 20 million characters.
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
