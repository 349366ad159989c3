"""A part of a file to rows of bronze, where the task runs: from where it was left to its end when it was listed.

In one step: what is read of a file never leaves the task, only the rows do, which are a tenth of it.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from typing import Any, NoReturn

import msgspec
import pyarrow as pa
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from headwater.common.errors import GiveUp
from headwater.events.transport_losses import loss_event
from headwater.intake.files.file_forms import FilePlace, NoEvents, read_pieces
from headwater.spark.bronze.bronze_rows import ARROW_ROWS, ROWS, BronzeRows, RowsOfTask

MARK_BYTES = 512
"""What stands before the place to which a file of lines was read tells it from another one under its name."""

SPREAD = 400
"""Sequence numbers for each byte of a part: deflate makes 1,032 bytes of one, and an event of a list has three."""

OTHER = "other"
"""Form of a file that holds no lines of events: a picture, Parquet, Avro."""

PARTITION = "0"
"""Of the log that files make up, the only one."""

_STATE = {
    "file": (StringType(), pa.string()),
    "form": (StringType(), pa.string()),
    "position": (LongType(), pa.int64()),
    "line": (LongType(), pa.int64()),
    "mark": (StringType(), pa.string()),
    "whole": (BooleanType(), pa.bool_()),
}
LANDED = StructType([*ROWS, *(StructField(name, kind) for name, (kind, _) in _STATE.items())])
"""Rows of bronze, and for each file a row without table with the position up to which it was read."""

_SCHEMA = pa.schema([*ARROW_ROWS, *((name, kind) for name, (_, kind) in _STATE.items())])
_CHUNK = 512
_CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class Taken:
    """How far a file is taken; mark: what stands there, whole: whether nothing behind that waits for its end."""

    place: FilePlace
    mark: str
    whole: bool


NOTHING = Taken(FilePlace(), "", whole=False)


@dataclass(frozen=True)
class FilePart:
    """What of a file is to be taken.

    before: how far it was taken; end: its length when it was listed, or where this part of it ends; first: number of
    its first record; modified_us: of the file; offset: the byte at which begins what is read; settled: an end that is
    not whole is waited for no longer.
    """

    file: str
    before: Taken
    end: int
    first: int
    modified_us: int
    offset: int
    settled: bool

    @property
    def last(self) -> int:
        """The highest number that a record of it can have."""
        return self.first + SPREAD * max(1, self.end - self.offset) - 1


@dataclass(frozen=True)
class LandedParts:
    """Makes rows of parts.

    parts: by the path that is read; step: makes rows of records, None where only asked is how far each file goes.
    """

    parts: Mapping[str, FilePart]
    step: BronzeRows | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take batches of `path`, `content`, give batches of LANDED."""
        states: list[_State] = []
        records = self._records(batches, states)
        if self.step is None:
            deque(records, maxlen=0)
        else:
            task = RowsOfTask(self.step)
            for some in _chunks(records):
                yield from map(_landed, task.rows(PARTITION, some))
        columns = list(zip(*states, strict=True)) or [()] * len(_STATE)
        said = {name: pa.array(values, kind) for values, (name, (_, kind)) in zip(columns, _STATE.items(), strict=True)}
        yield _landed(pa.RecordBatch.from_pydict(said))

    def _records(self, batches: Iterable[pa.RecordBatch], states: list["_State"]) -> Iterator[tuple[Any, ...]]:
        for batch in batches:
            for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
                part = self.parts[path.as_py()]
                taken = yield from _records_of(part, content.as_py())
                states.append((part.file, *taken.place, taken.mark, taken.whole))


_State = tuple[str, str, int, int, str, bool]


def _landed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give a batch all columns; those that it lacks are null."""
    known = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = [known[field.name] if field.name in known else pa.nulls(batch.num_rows, field.type) for field in _SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def mark_of(content: bytes, end: int) -> str:
    """Return a digest of the bytes before `end`, and how many these are."""
    text = content[max(0, end - MARK_BYTES) : end]
    return f"{len(text)}:{blake2b(text, digest_size=16).hexdigest()}"


def fits(content: bytes, end: int, mark: str) -> bool:
    """Tell whether the bytes before `end` are still those of which a mark was made."""
    size = int(mark.partition(":")[0] or 0)
    return end <= len(content) and mark_of(content[max(0, end - size) :], min(end, size)) == mark


def marked(place: FilePlace, length: int) -> int:
    """Return the end of the bytes by which a file is known: before the place, or at its beginning if it has none."""
    return place.position if place.form in ("", "lines") else min(MARK_BYTES, length)


def _records_of(part: FilePart, content: bytes) -> Generator[tuple[Any, ...], None, Taken]:
    """Yield the records of a part; returns how far that is."""
    place, whole, number = part.before.place, True, part.first
    if place.position and not (part.offset or fits(content, marked(place, part.end), part.before.mark)):
        place = FilePlace()  # another file under this name
    try:
        for piece in read_pieces(BytesIO(content[: part.end - part.offset]), _moved(place, -part.offset), _no_claim):
            if not (piece.whole or part.settled):
                whole = False
                break
            if piece.behind.position:  # else it is the word on why a whole file cannot be read
                place = _moved(piece.behind, part.offset)
            http = msgspec.json.encode({"origin": f"{part.file}:{piece.line}"})
            yield PARTITION, number, part.modified_us, 0, http, loss_event(piece.text) or piece.text, None
            number += 1
    except NoEvents:
        place = FilePlace(OTHER, part.end)
    mark = mark_of(content, marked(place, part.end) - part.offset) if place != part.before.place else part.before.mark
    return Taken(place, mark, whole)


def _moved(place: FilePlace, by: int) -> FilePlace:
    """Return a place in a file as one in what is read of it, or back; only what is cut has an offset: lines."""
    return place._replace(position=place.position + by)


def _no_claim(_: bytes) -> NoReturn:
    raise GiveUp("Files of lines name no large bodies.")


def _chunks(records: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    some: list[tuple[Any, ...]] = []
    size = 0
    for record in records:
        some.append(record)
        size += len(record[5])
        if len(some) == _CHUNK or size > _CHUNK_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some
