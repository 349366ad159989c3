"""Buckets of gold's edge tables. A batch rewrites the buckets of the outputs that it changes, not the whole table.

A small table has one bucket. When the text of open candidates outgrows the buckets, their number is multiplied by four
and all rows are rewritten. This happens at most six times.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.spark_delta import TableFolder, scanned_bytes

BUCKET_CHARS = 2 << 20
"""Maximum text of open candidates for each bucket, in characters: about 25,000 edges."""

GROWTH = 4
MAX_BUCKETS = 4_096
"""Each bucket is one file in each table. Above this number, a commit that rewrites all buckets gets too expensive."""


def buckets_for(content_chars: int, before: int) -> int:
    """Return the number of buckets, at least `before`. content_chars: length of the texts of open candidates."""
    buckets = before
    while content_chars > buckets * BUCKET_CHARS and buckets < MAX_BUCKETS:
        buckets *= GROWTH
    return buckets


def bucket_of(namespace: str, name: str, buckets: int) -> Column:
    """Return the bucket of a dataset. namespace, name: the columns with its name."""
    return F.pmod(F.xxhash64(namespace, name), F.lit(buckets)).cast("int")


def by_bucket(folder: TableFolder, frame: DataFrame, *partition: str) -> DataFrame:
    """Repartition a frame so that one task writes each bucket, as one file."""
    is_one_task = folder.small and scanned_bytes(frame) <= folder.task_bytes
    return folder.coalesce_if_small(frame) if is_one_task else frame.repartition(*partition)


def in_buckets(found: Iterable[int | None]) -> str:
    """Return the SQL condition for rows in these buckets. Ignores None."""
    numbers = sorted(number for number in found if number is not None)
    return f"bucket IN ({', '.join(map(str, numbers))})" if numbers else "false"
