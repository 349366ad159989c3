"""Buckets of gold's tables of edges: a change rewrites the buckets of its outputs, not the whole table.

A table of few rows has one bucket. The number of buckets grows fourfold with what open candidates say, and then all
rows are written once more: over all batches, each row is moved a constant number of times.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.spark_delta import TableFolder

BUCKET_BYTES = 2 << 20
"""Text of open candidates behind one bucket, at most: about 25,000 edges."""

GROWTH = 4
MOST_BUCKETS = 4_096
"""A bucket is a file in each table; more of them cost a commit of all buckets more than they save."""


def buckets_for(text_bytes: int, before: int) -> int:
    """Return how many buckets are needed, never fewer than before. text_bytes: what open candidates say."""
    buckets = before
    while text_bytes > buckets * BUCKET_BYTES and buckets < MOST_BUCKETS:
        buckets *= GROWTH
    return buckets


def bucket_of(namespace: str, name: str, buckets: int) -> Column:
    """Return the bucket of a dataset. namespace, name: the columns that name it."""
    return F.pmod(F.xxhash64(namespace, name), F.lit(buckets)).cast("int")


def by_bucket(folder: TableFolder, frame: DataFrame, *partition: str) -> DataFrame:
    """Return a frame whose buckets are each in one task, so that each is written as one file."""
    return folder.few(frame) if folder.small else frame.repartition(*partition)


def in_buckets(found: Iterable[int | None]) -> str:
    """Return a condition that holds for rows in one of these buckets."""
    numbers = sorted(number for number in found if number is not None)
    return f"bucket IN ({', '.join(map(str, numbers))})" if numbers else "false"
