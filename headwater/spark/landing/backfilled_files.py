"""What `headwater spark backfill`, which was before this, has taken of a folder: by the checkpoint that it kept."""

from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.landing.file_ledger import FileLedger


def seed(spark: SparkSession, ledger: FileLedger, checkpoint: str) -> None:
    """Take over, once, the files of all batches that had ended; one that was changed since is read again as a whole."""
    ended = StoragePlace(spark, f"{checkpoint}/commits").names()
    if not ended or ledger.last_batch()[0].number:
        return
    newest = max(int(name) for name in ended if name.isdigit())
    entries = spark.read.schema("path string, timestamp long, batchId long").json(f"{checkpoint}/sources/0")
    taken = entries.where(F.col("path").isNotNull() & (F.col("batchId") <= newest)).dropDuplicates(["path"])
    path = F.udf(lambda text: unquote(text).replace("file:///", "file:/", 1), "string")
    ledger.seed(taken.select(path("path").alias("file"), (F.col("timestamp") * 1000).alias("modified_us")))
