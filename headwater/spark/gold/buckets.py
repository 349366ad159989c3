"""Divide the tables of gold into buckets. A batch rewrites only the buckets of the datasets that it changes.

A small table has one bucket. If the texts of open candidates become too long for the number of buckets, a batch
multiplies this number by four and rewrites all rows. This happens at most six times.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.spark_delta import TableFolder, scanned_bytes

BUCKET_CHARS = 2 << 20
"""Maximum length of the texts of open candidates for each bucket, in characters. This is about 25,000 edges."""

GROWTH = 4
MAX_BUCKETS = 4_096
"""Maximum number of buckets. Each bucket is a file, and a commit that rewrites more files would take too long."""


def bucket_count(content_chars: int, before: int) -> int:
    """Return the number of buckets after a batch.

    content_chars: total length of the texts of open candidates. before: the previous number, which never decreases.
    """
    buckets = before
    while content_chars > buckets * BUCKET_CHARS and buckets < MAX_BUCKETS:
        buckets *= GROWTH
    return buckets


def bucket_column(namespace: str, name: str, buckets: int) -> Column:
    """Return the bucket of a dataset as a column. namespace, name: names of the columns with the dataset's name."""
    return F.pmod(F.xxhash64(namespace, name), F.lit(buckets)).cast("int")


def repartition_by_bucket(folder: TableFolder, frame: DataFrame, *partition: str) -> DataFrame:
    """Repartition a frame so that one task writes each bucket, as one file. partition: columns that name a bucket."""
    is_one_task = folder.small and scanned_bytes(frame) <= folder.task_bytes
    return folder.coalesce_if_small(frame) if is_one_task else frame.repartition(*partition)


def buckets_condition(found: Iterable[int | None]) -> str:
    """Return the SQL condition for rows in these buckets. Ignores None in `found`."""
    numbers = sorted(number for number in found if number is not None)
    return f"bucket IN ({', '.join(map(str, numbers))})" if numbers else "false"
