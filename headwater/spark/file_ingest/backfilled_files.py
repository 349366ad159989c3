"""Import the list of files that earlier releases ingested with `headwater spark backfill`, from its checkpoint."""

from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.file_ingest.file_ledger import FileLedger


def seed_ledger(spark: SparkSession, ledger: FileLedger, checkpoint: str) -> None:
    """Add the files of a checkpoint's completed batches to an empty ledger.

    The next ingest does not read these files again, except files that have changed since their backfill.

    checkpoint: checkpoint folder of a Spark stream from files. Does nothing if the folder does not exist or the ledger
    has entries.
    """
    ended = StoragePlace(spark, f"{checkpoint}/commits").names()
    if not ended or ledger.last_batch()[0].number:
        return
    newest = max(int(name) for name in ended if name.isdigit())
    entries = spark.read.schema("path string, timestamp long, batchId long").json(f"{checkpoint}/sources/0")
    ingested = entries.where(F.col("path").isNotNull() & (F.col("batchId") <= newest)).dropDuplicates(["path"])
    path = F.udf(lambda text: unquote(text).replace("file:///", "file:/", 1), "string")
    ledger.record_ingested_files(
        ingested.select(path("path").alias("file"), (F.col("timestamp") * 1000).alias("modified_us"))
    )
