"""Apply Python functions to the rows of a Spark frame through Arrow. All lineage rules run in this way."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from headwater.lake.arrow_batches import arrow_schema, arrow_type
from headwater.spark.delta.spark_delta import spark_schema
from headwater.tables import Table

Row = tuple[Any, ...]
RowStep = Callable[[Iterator[Row]], Iterable[Row]]

ROWS = 512
"""Maximum number of rows in an Arrow batch that returns to Spark. It is small because a row may contain megabytes."""


def map_rows(frame: DataFrame, step: RowStep, to: Table) -> DataFrame:
    """Apply a step to the rows of each partition of a frame. Returns a frame with the columns of the table `to`.

    step: takes an iterator of rows and yields rows, as tuples in the column order of `frame` and of `to`.
    """
    kinds = list(to.columns.values())

    def mapped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(to)
        found = iter(step(_rows(batches)))
        while rows := list(islice(found, ROWS)):
            columns = zip(*rows, strict=True)
            arrays = [pa.array(values, arrow_type(kind)) for values, kind in zip(columns, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return frame.mapInArrow(mapped, spark_schema(to))


def map_groups(
    frame: DataFrame, key: str, step: Callable[[Sequence[Row]], Iterable[Row]], to: Table, *, small: bool = False
) -> DataFrame:
    """Apply a step to each group of rows with the same key. Returns a frame with the columns of the table `to`.

    A worker holds one group at a time, and rows of a group share equal texts.

    key: column with the key. step: takes the rows of one group and returns rows, as tuples in column order.
    small: process all groups in one task.
    """
    place = frame.columns.index(key)

    def grouped(rows: Iterator[Row]) -> Iterator[Row]:
        for _, group in groupby(rows, key=itemgetter(place)):
            texts: dict[str, str] = {}
            yield from step([_share_equal_texts(row, texts) for row in group])

    partitions = frame.coalesce(1) if small else frame.repartition(key)
    return map_rows(partitions.sortWithinPartitions(key), grouped, to)


def _share_equal_texts(row: Row, texts: dict[str, str]) -> Row:
    """Replace the texts of a row by equal objects from earlier rows. Most of 100,000 runs of a job have the same 2 KB.

    texts: the texts of the earlier rows, to which this row adds its own.
    """
    return tuple([texts.setdefault(each, each) if isinstance(each, str) else each for each in row])


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    return chain.from_iterable(zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches)
