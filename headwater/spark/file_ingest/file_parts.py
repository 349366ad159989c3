"""Convert parts of files to rows of bronze on the executors.

A task reads and converts a file in one step, so only the rows leave the task. The rows have about a tenth of the file's
size.
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
from headwater.intake.files.file_forms import FilePlace, UnknownFileFormat, read_file_events
from headwater.spark.log_ingest.bronze_rows import ARROW_ROWS, ROWS, BronzeRows, TaskConverter

MARK_BYTES = 512
"""Maximum number of bytes before a position that its mark covers. A mark shows whether the file has been replaced."""

SPREAD = 400
"""Number of sequence numbers that are reserved for each byte of a part.

A byte of deflate contains at most 1,032 bytes of text, and an event in a list takes at least three bytes of text.
"""

OTHER = "other"
"""`form` of a file that does not contain events, for example a picture or a Parquet file."""

PARTITION = "0"
"""The only partition of a log that consists of files."""

_STATE = {
    "file": (StringType(), pa.string()),
    "form": (StringType(), pa.string()),
    "position": (LongType(), pa.int64()),
    "line": (LongType(), pa.int64()),
    "mark": (StringType(), pa.string()),
    "whole": (BooleanType(), pa.bool_()),
}
LANDED = StructType([*ROWS, *(StructField(name, kind) for name, (kind, _) in _STATE.items())])
"""Schema of `FilePartConverter`: rows of bronze, and a row per file with its position, in which `table` is null."""

_SCHEMA = pa.schema([*ARROW_ROWS, *((name, kind) for name, (_, kind) in _STATE.items())])
_CHUNK = 512
_CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class FilePosition:
    """The position reached in a file.

    mark: digest of the bytes before the position, as `position_mark` returns it. whole: False if an incomplete event
    follows the position.
    """

    place: FilePlace
    mark: str
    whole: bool


START = FilePosition(FilePlace(), "", whole=False)


@dataclass(frozen=True)
class FilePart:
    """A part of a file to ingest.

    file: path of the file. before: position that earlier batches have reached. offset, end: the range of bytes to read
    (`end` is exclusive). first: sequence number of the first record. modified_us: modification time of the file.
    settled: ingest an incomplete event at the end of the file as it is, instead of waiting for the rest of the event.
    """

    file: str
    before: FilePosition
    end: int
    first: int
    modified_us: int
    offset: int
    settled: bool

    @property
    def last_sequence(self) -> int:
        """The highest sequence number reserved for the part."""
        return self.first + SPREAD * max(1, self.end - self.offset) - 1


@dataclass(frozen=True)
class FilePartConverter:
    """Converts file parts to rows.

    parts: the parts by path of the file that is read, which is the file itself or a copy of the part.
    step: converts records to rows of bronze; None to compute only the positions reached.
    """

    parts: Mapping[str, FilePart]
    step: BronzeRows | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert batches of `path` and `content` to batches of `LANDED`."""
        states: list[_State] = []
        records = self._records(batches, states)
        if self.step is None:
            deque(records, maxlen=0)
        else:
            task = TaskConverter(self.step)
            for some in _split_into_chunks(records):
                yield from map(_with_landed_columns, task.rows(PARTITION, some))
        columns = list(zip(*states, strict=True)) or [()] * len(_STATE)
        arrays = {
            name: pa.array(values, kind) for values, (name, (_, kind)) in zip(columns, _STATE.items(), strict=True)
        }
        yield _with_landed_columns(pa.RecordBatch.from_pydict(arrays))

    def _records(self, batches: Iterable[pa.RecordBatch], states: list["_State"]) -> Iterator[tuple[Any, ...]]:
        for batch in batches:
            for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
                part = self.parts[path.as_py()]
                position = yield from _records_of(part, content.as_py())
                states.append((part.file, *position.place, position.mark, position.whole))


_State = tuple[str, str, int, int, str, bool]


def _with_landed_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Add the missing columns of `LANDED` to a batch, with nulls."""
    known = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = [known[field.name] if field.name in known else pa.nulls(batch.num_rows, field.type) for field in _SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def position_mark(content: bytes, end: int) -> str:
    """Return the mark of a position: number and digest of the last `MARK_BYTES` bytes before `end`, as `NUMBER:DIGEST`.

    The number is smaller than `MARK_BYTES` if fewer bytes precede `end`.
    """
    text = content[max(0, end - MARK_BYTES) : end]
    return f"{len(text)}:{blake2b(text, digest_size=16).hexdigest()}"


def matches_mark(content: bytes, end: int, mark: str) -> bool:
    """Return whether the bytes before `end` still match a mark."""
    size = int(mark.partition(":")[0] or 0)
    return end <= len(content) and position_mark(content[max(0, end - size) :], min(end, size)) == mark


def mark_end(place: FilePlace, length: int) -> int:
    """Return the end of the bytes that a mark covers, as an offset in the file.

    A mark covers the bytes before the position. In formats whose position is a number of events, it covers the first
    512 bytes of the file. length: bytes of the file.
    """
    return place.position if place.form in ("", "lines") else min(MARK_BYTES, length)


def _records_of(part: FilePart, content: bytes) -> Generator[tuple[Any, ...], None, FilePosition]:
    """Yield the records of a part and return the position reached."""
    place, whole, number = part.before.place, True, part.first
    if place.position and not (part.offset or matches_mark(content, mark_end(place, part.end), part.before.mark)):
        place = FilePlace()  # another file under this name
    try:
        for piece in read_file_events(
            BytesIO(content[: part.end - part.offset]), _shift_place(place, -part.offset), _reject_claim
        ):
            if not (piece.is_complete or part.settled):
                whole = False
                break
            if piece.next_place.position:  # else the piece reports why the file cannot be read
                place = _shift_place(piece.next_place, part.offset)
            http = msgspec.json.encode({"origin": f"{part.file}:{piece.line}"})
            yield PARTITION, number, part.modified_us, 0, http, loss_event(piece.text) or piece.text, None
            number += 1
    except UnknownFileFormat:
        place = FilePlace(OTHER, part.end)
    mark = (
        position_mark(content, mark_end(place, part.end) - part.offset)
        if place != part.before.place
        else part.before.mark
    )
    return FilePosition(place, mark, whole)


def _shift_place(place: FilePlace, by: int) -> FilePlace:
    """Shift a position by a number of bytes. Only files of lines are read in parts and have an offset other than 0."""
    return place._replace(position=place.position + by)


def _reject_claim(_: bytes) -> NoReturn:
    raise GiveUp("The file refers to a large body, but `headwater-spark ingest` cannot read one for this format.")


def _split_into_chunks(records: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
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
