"""Convert log records to rows of bronze on the executors, one partition at a time, with the parser's functions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headwater.common.errors import GiveUp, InvalidEvent
from headwater.events.event_reader import EventReader
from headwater.events.position import Source
from headwater.events.rows import Row
from headwater.intake.event_log import LoggedRecord, RecordKind
from headwater.intake.parser.bronze_batch import (
    BronzeBatch,
    ParserContext,
    build_batch,
    build_rejection_batch,
    process_bisecting,
)
from headwater.lake.arrow_batches import arrow_batch, arrow_schema
from headwater.spark.delta.spark_delta import spark_schema
from headwater.tables import BRONZE, Table

RECORDS = "partition string, sequence long, received_us long, kind int, http binary, body binary, claim binary"
"""Columns of a source's records.

kind: a value of `RecordKind`. If it is 1, `body` contains the key of a large body. claim: this large body, or null if
the body is missing or `kind` is not 1.
"""

ROWS = StructType(
    [
        StructField("place", StringType()),
        StructField("number", LongType()),
        StructField("table", StringType()),
        *(StructField(table.name, spark_schema(table)) for table in BRONZE),
    ]
)
"""Schema of converted rows. Each row belongs to the table that `table` names.

The column with the name of this table contains the row; the columns of other tables are null.
place: the partition of the log. number: the sequence number of the record from which the row was converted.
"""

ARROW_ROWS = pa.schema(
    [
        ("place", pa.string()),
        ("number", pa.int64()),
        ("table", pa.string()),
        *((table.name, pa.struct(list(arrow_schema(table)))) for table in BRONZE),
    ]
)
"""The same schema as `ROWS`, in Arrow."""

_CHUNK = 512
_KINDS = {kind.value: kind for kind in RecordKind}


@dataclass(frozen=True)
class PartitionPosition:
    """The position of a partition before a batch.

    watermark: newest sequence number that the lake has stored. head: oldest sequence number that the log still has, or
    None if sequence numbers may have gaps. decided: sequence numbers of records that an interrupted attempt has already
    stored.
    """

    watermark: int
    head: int | None
    decided: Collection[int] = ()


@dataclass(frozen=True)
class BronzeRows:
    """Converts the records of a batch to rows. `BatchIngest` later removes rows that the lake or another task also has.

    log, epoch: the log of the records. starts: the position of each partition before the batch.
    hashes: Spark broadcast of the keys (`stored_key`) of the contents that the lake has stored.
    """

    log: str
    epoch: str
    starts: Mapping[str, PartitionPosition]
    hashes: Any

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert batches of `RECORDS` to batches of `ROWS`."""
        task = TaskConverter(self)
        for batch in batches:
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            for partition, found in groupby(rows, key=lambda row: row[0]):
                yield from task.rows(partition, list(found))


class TaskConverter:
    """Converts the records of one task. Returns the rows of each recurring content only once."""

    def __init__(self, to: BronzeRows):
        """to: contains the log, the positions of its partitions and the stored contents."""
        self._to = to
        self._reached: dict[str, int] = {}
        self._converted: set[bytes] = set()

    def rows(self, partition: str, records: Sequence[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
        """Yield batches of `ROWS` for records of one partition.

        records: tuples in the columns `RECORDS`. Pass the records of a partition in order, in one or several calls.
        """
        start = self._to.starts[partition]
        converter = _PartitionConverter(
            self._to, Source(self._to.log, self._to.epoch, partition), start, self._converted
        )
        watermark = self._reached.get(partition, start.watermark)
        found = list(_records(records, watermark, start.head))
        converter.claims.bodies.update({row[5]: row[6] for row in records if row[6] is not None})
        for first in range(0, len(found), _CHUNK):
            chunk = found[first : first + _CHUNK]
            yield from converter.rows(chunk, watermark)
            if start.head is not None:
                watermark = self._reached[partition] = chunk[-1].sequence


class _PartitionConverter:
    """Converts the records of one partition in chunks. converted: keys of the contents that the task has converted."""

    def __init__(self, to: BronzeRows, source: Source, start: PartitionPosition, converted: set[bytes]):
        self._source = source
        self._start = start
        self._stored: Collection[bytes] = to.hashes.value
        self._converted = converted
        self._batches: list[pa.RecordBatch] = []
        self.claims = CarriedClaims()

    def rows(self, records: Sequence[LoggedRecord], watermark: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a chunk. If a record cannot be converted, only this record is rejected."""
        self._batches.clear()
        process_bisecting(records, watermark, self._convert, self._reject)
        yield from self._batches

    def _convert(self, records: Sequence[LoggedRecord], watermark: int) -> None:
        known, sparse = _SetUnion(self._stored, self._converted), self._start.head is None
        before = ParserContext(watermark, (), known, self._start.decided, sparse)
        batch = build_batch(self._source, records, before, _event_reader(), self.claims)
        self._add(batch)
        self._converted |= batch.hashes

    def _reject(self, record: LoggedRecord, watermark: int, fault: InvalidEvent) -> None:
        if record.sequence not in self._start.decided:
            before = record.sequence - 1 if self._start.head is None else watermark
            self._add(build_rejection_batch(self._source, record, before, fault))

    def _add(self, batch: BronzeBatch) -> None:
        found = [(table, batch.rows[table.name]) for table in BRONZE if table.name in batch.rows]
        self._batches += [_row_batch(table, self._source.partition, rows) for table, rows in found if rows]


class CarriedClaims:
    """Provides the large bodies that the source has read together with their records. bodies: by key."""

    def __init__(self) -> None:
        self.bodies: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes:
        """Return the large body with a key. Raises GiveUp if the source has not found this body."""
        if key not in self.bodies:
            raise GiveUp("The body of this event is missing from the folder of large bodies.")
        return self.bodies[key]

    def size(self, key: bytes) -> int:
        """Return the length of a large body in bytes, or 0 if the source has not found this body."""
        return len(self.bodies.get(key, b""))


class _SetUnion:
    """Union of two sets that are not copied."""

    def __init__(self, one: Collection[bytes], other: Collection[bytes]):
        self._sets = one, other

    def __contains__(self, item: object) -> bool:
        return any(item in each for each in self._sets)


@cache
def _event_reader() -> EventReader:
    """Return the event reader of this process. Spark reuses processes, so later batches find decoded facets in it."""
    return EventReader()


def _records(rows: Iterable[tuple[Any, ...]], watermark: int, head: int | None) -> Iterator[LoggedRecord]:
    """Yield the records after the watermark.

    The field `holes` of a record counts the missing sequence numbers before it that the log should still have. If
    `head` is None, sequence numbers may have gaps and arrive in any order, so `holes` is 0.
    """
    for _, sequence, received_us, kind, http, body, _ in rows:
        if sequence > watermark:
            holes = 0 if head is None else sequence - max(watermark + 1, min(head, sequence))
            sent = http.decode("utf-8", "replace")
            yield LoggedRecord(sequence, received_us, _KINDS.get(kind, RecordKind.EVENT), sent, body or b"", holes)
            watermark = watermark if head is None else sequence


def _row_batch(table: Table, partition: str, rows: Sequence[tuple[int, Row]]) -> pa.RecordBatch:
    count = len(rows)
    found = arrow_batch(table, [row for _, row in rows])
    values = {
        "place": pa.array([partition] * count, pa.string()),
        "number": pa.array([number for number, _ in rows], pa.int64()),
        "table": pa.array([table.name] * count, pa.string()),
        table.name: pa.StructArray.from_arrays(found.columns, fields=list(found.schema)),
    }
    columns = [values[field.name] if field.name in values else pa.nulls(count, field.type) for field in ARROW_ROWS]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_ROWS)
