"""Files that a session of the Spark plugin wrote next to its table, because a stopping context cannot commit."""

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.storage_place import StoragePlace

FOLDER = "_headwater"
"""As `LakeFolder` of the plugin names it."""

_SUFFIX = ".ndjson"
_BODY = ',"body":"'
_END = '"}'
_TEXTS = ("id", "application_id", "application_name", "executor_id", "method", "path")
_HEAD = ", ".join(f"{name} string" for name in (*_TEXTS, "received_at")) + ", headers map<string, string>"


def leftover_batches(spark: SparkSession, table: str) -> list[str]:
    """Return the ids of the batches in files next to a table."""
    names = StoragePlace(spark, f"{table}/{FOLDER}").names()
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and not name.startswith("."))


def commit_leftovers(spark: SparkSession, table: str) -> None:
    """Move what sessions left beside the plugin's table into it, each batch once, as the plugin's next flush would.

    The id of a batch is Delta's transaction, the same that a flush uses: a session that takes the same file at the same
    time adds nothing twice.
    """
    place = StoragePlace(spark, f"{table}/{FOLDER}")
    for batch in leftover_batches(spark, table):
        rows = _rows(spark.read.text(f"{table}/{FOLDER}/{batch}{_SUFFIX}"))
        writer = rows.coalesce(1).write.format("delta").mode("append")
        writer = writer.option("txnAppId", f"headwater-plugin/{batch}").option("txnVersion", "1")
        if not DeltaTable.isDeltaTable(spark, table):  # as the plugin would make it
            writer = writer.partitionBy("dt").option("delta.enableDeletionVectors", "false")
        writer.save(table)
        place.remove(batch + _SUFFIX)


def _rows(lines: DataFrame) -> DataFrame:
    """Read lines of the table's columns; a line that a kill tore is no row.

    The body is cut out before the rest is read as JSON: its reader refuses strings of over 20 million characters.
    """
    whole = lines.where(F.col("value").endswith(_END) & F.col("value").contains(_BODY))
    tail = F.substring_index("value", _BODY, -1)  # base64 has no quotes
    head = F.expr(f"substring(value, 1, length(value) - length(tail) - {len(_BODY)}) || '}}'")
    told = whole.withColumn("tail", tail).select(F.from_json(head, _HEAD).alias("told"), "tail")
    body = F.unbase64(F.expr(f"substring(tail, 1, length(tail) - {len(_END)})"))
    return told.select(
        *(f"told.{name}" for name in (*_TEXTS, "headers")),
        F.col("told.received_at").cast("timestamp").alias("received_at"),
        body.alias("body"),
        F.col("told.received_at").substr(1, 10).cast("date").alias("dt"),
    )
