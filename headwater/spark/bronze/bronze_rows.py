"""Records of a log to rows of bronze, on the executors: the parser's own rules over one partition's records."""

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
from headwater.intake.parser.bronze_batch import BronzeBatch, ParserContext, bisect, build_batch, rejected_batch
from headwater.lake.arrow_batches import arrow_batch, arrow_schema
from headwater.spark.delta.spark_delta import spark_schema
from headwater.tables import BRONZE, Table

RECORDS = "partition string, sequence long, received_us long, kind int, http binary, body binary, claim binary"
"""What a source gives: `claim` is the body that a claim stands for, null if it is gone."""

ROWS = StructType(
    [
        StructField("place", StringType()),
        StructField("number", LongType()),
        StructField("table", StringType()),
        *(StructField(table.name, spark_schema(table)) for table in BRONZE),
    ]
)
"""One row of one table, in the column of its name; `place` is its partition, `number` the sequence it belongs to."""

ARROW_ROWS = pa.schema(
    [
        ("place", pa.string()),
        ("number", pa.int64()),
        ("table", pa.string()),
        *((table.name, pa.struct(list(arrow_schema(table)))) for table in BRONZE),
    ]
)
"""`ROWS`, as tasks give them."""

_CHUNK = 512
_KINDS = {kind.value: kind for kind in RecordKind}


@dataclass(frozen=True)
class Start:
    """The position of a partition before a batch.

    watermark: newest sequence in the lake; head: oldest that the log still keeps, None where numbers may be left out
    at will; decided: as of `ParserContext`.
    """

    watermark: int
    head: int | None
    decided: Collection[int] = ()


@dataclass(frozen=True)
class BronzeRows:
    """Makes the rows of a batch; what recurs in the lake or in other tasks is sorted out afterwards, over all of it.

    hashes: a broadcast set of facets whose rows are stored.
    """

    log: str
    epoch: str
    starts: Mapping[str, Start]
    hashes: Any

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take batches of `RECORDS`, give batches of `ROWS`."""
        task = RowsOfTask(self)
        for batch in batches:
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            for partition, found in groupby(rows, key=lambda row: row[0]):
                yield from task.rows(partition, list(found))


class RowsOfTask:
    """Makes the rows of one task's records, in which each facet has its rows once."""

    def __init__(self, to: BronzeRows):
        """Begin with no record; to: what the rows are of."""
        self._to = to
        self._reached: dict[str, int] = {}
        self._seen: set[bytes] = set()

    def rows(self, partition: str, records: Sequence[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
        """Give batches of `ROWS` for some of a partition's `RECORDS`, each a tuple; those before come before."""
        start = self._to.starts[partition]
        making = _Making(self._to, Source(self._to.log, self._to.epoch, partition), start, self._seen)
        watermark = self._reached.get(partition, start.watermark)
        found = list(_records(records, watermark, start.head))
        making.claims.bodies.update({row[5]: row[6] for row in records if row[6] is not None})
        for first in range(0, len(found), _CHUNK):
            chunk = found[first : first + _CHUNK]
            yield from making.rows(chunk, watermark)
            if start.head is not None:
                watermark = self._reached[partition] = chunk[-1].sequence


class _Making:
    """One partition's records, chunk by chunk; seen: facets whose rows the task has made."""

    def __init__(self, to: BronzeRows, source: Source, start: Start, seen: set[bytes]):
        self._source = source
        self._start = start
        self._stored: Collection[bytes] = to.hashes.value
        self._seen = seen
        self._made: list[pa.RecordBatch] = []
        self.claims = CarriedClaims()

    def rows(self, records: Sequence[LoggedRecord], watermark: int) -> Iterator[pa.RecordBatch]:
        """Give the rows of a chunk; records that fit no column are rejected one by one."""
        self._made.clear()
        bisect(records, watermark, self._make, self._reject)
        yield from self._made

    def _make(self, records: Sequence[LoggedRecord], watermark: int) -> None:
        known, sparse = _Either(self._stored, self._seen), self._start.head is None
        before = ParserContext(watermark, (), known, self._start.decided, sparse)
        batch = build_batch(self._source, records, before, _event_reader(), self.claims)
        self._keep(batch)
        self._seen |= batch.hashes

    def _reject(self, record: LoggedRecord, watermark: int, fault: InvalidEvent) -> None:
        if record.sequence not in self._start.decided:
            before = record.sequence - 1 if self._start.head is None else watermark
            self._keep(rejected_batch(self._source, record, before, fault))

    def _keep(self, batch: BronzeBatch) -> None:
        found = [(table, batch.rows[table.name]) for table in BRONZE if table.name in batch.rows]
        self._made += [_in_its_column(table, self._source.partition, rows) for table, rows in found if rows]


class CarriedClaims:
    """Large bodies that the source read with their records, by key."""

    def __init__(self) -> None:
        self.bodies: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes:
        """Return a body; raises GiveUp if it did not come."""
        if key not in self.bodies:
            raise GiveUp("The body of this event is gone from the claims.")
        return self.bodies[key]

    def size(self, key: bytes) -> int:
        """Return a body's length in bytes, 0 if it did not come."""
        return len(self.bodies.get(key, b""))


class _Either:
    """What is in one of two sets."""

    def __init__(self, one: Collection[bytes], other: Collection[bytes]):
        self._sets = one, other

    def __contains__(self, item: object) -> bool:
        return any(item in each for each in self._sets)


@cache
def _event_reader() -> EventReader:
    """Remember facets from one batch to the next: Spark keeps its Python processes, and each works on one task."""
    return EventReader()


def _records(rows: Iterable[tuple[Any, ...]], watermark: int, head: int | None) -> Iterator[LoggedRecord]:
    """Give what is behind the watermark; a number that was left out although the log keeps it is a hole.

    Where numbers are left out at will, they come in any order, too.
    """
    for _, sequence, received_us, kind, http, body, _ in rows:
        if sequence > watermark:
            holes = 0 if head is None else sequence - max(watermark + 1, min(head, sequence))
            sent = http.decode("utf-8", "replace")
            yield LoggedRecord(sequence, received_us, _KINDS.get(kind, RecordKind.EVENT), sent, body or b"", holes)
            watermark = watermark if head is None else sequence


def _in_its_column(table: Table, partition: str, rows: Sequence[tuple[int, Row]]) -> pa.RecordBatch:
    count = len(rows)
    found = arrow_batch(table, [row for _, row in rows])
    said = {
        "place": pa.array([partition] * count, pa.string()),
        "number": pa.array([number for number, _ in rows], pa.int64()),
        "table": pa.array([table.name] * count, pa.string()),
        table.name: pa.StructArray.from_arrays(found.columns, fields=list(found.schema)),
    }
    columns = [said[field.name] if field.name in said else pa.nulls(count, field.type) for field in ARROW_ROWS]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_ROWS)
