"""Read large bodies that the log stores separately (claim check).

Spark reads these bodies as files, so executors need no client of the storage.
"""

from collections.abc import Collection
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import GiveUp, WrongSetting
from headwater.intake.event_log import claim_name


def with_claims(spark: SparkSession, records: DataFrame, folder: str | None, keys: Collection[bytes]) -> DataFrame:
    """Add the column `claim` to records. It contains the large body to which a record of kind 1 refers.

    `claim` is null for other records, and if the body is missing. folder: folder or URI of the large bodies, readable
    by Spark. keys: the keys of all large bodies to which the records refer. Raises WrongSetting if there are keys but
    no folder.
    """
    if keys and folder is None:
        raise WrongSetting("The log refers to large bodies, but their folder is not configured. Set it with --claims.")
    paths = [path for key in keys if _exists(spark, path := f"{folder}/{_name(key)}")]
    if not paths:
        return records.withColumn("claim", F.lit(None).cast("binary"))
    claims = spark.read.format("binaryFile").load(paths)
    named = claims.select(
        F.element_at(F.split("path", "/"), -1).cast("binary").alias("key"), F.col("content").alias("claim")
    )
    is_claim = (F.col("kind") == 1) & (F.col("body") == F.col("key"))
    return records.join(F.broadcast(named), is_claim, "left").drop("key")


def _exists(spark: SparkSession, path: str) -> bool:
    context: Any = spark.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    return bool(place.getFileSystem(context._jsc.hadoopConfiguration()).exists(place))


def _name(key: bytes) -> str:
    try:
        return claim_name(key)
    except GiveUp:
        return "no claim"
