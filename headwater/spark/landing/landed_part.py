"""A part of a file to records, where the task runs: from where it was left to where it ended when it was listed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from typing import Any, NoReturn

import msgspec
import pyarrow as pa

from headwater.errors import GiveUp
from headwater.events.transport_losses import loss_event
from headwater.file_intake.file_forms import FilePlace, NoEvents, read_pieces

MARK_BYTES = 512
"""What stands before the place to which a file of lines was read tells it from another one under its name."""

SPREAD = 400
"""Sequence numbers for each byte of a part: deflate makes 1,032 bytes of one, and an event of a list has three."""

OTHER = "other"
"""Form of a file that holds no lines of events: a picture, Parquet, Avro."""

_FIELDS = {
    "partition": ("string", pa.string()),
    "sequence": ("long", pa.int64()),
    "received_us": ("long", pa.int64()),
    "kind": ("int", pa.int32()),
    "http": ("binary", pa.binary()),
    "body": ("binary", pa.binary()),
    "file": ("string", pa.string()),
    "form": ("string", pa.string()),
    "position": ("long", pa.int64()),
    "line": ("long", pa.int64()),
    "mark": ("string", pa.string()),
    "whole": ("boolean", pa.bool_()),
}
LANDED = ", ".join(f"{name} {kind}" for name, (kind, _) in _FIELDS.items())
"""Records; and behind those of a file a row without partition, that says how far the file is taken."""

_SCHEMA = pa.schema([(name, kind) for name, (_, kind) in _FIELDS.items()])
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
    """Makes records of parts; parts: by the path that is read."""

    parts: Mapping[str, FilePart]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take batches of `path`, `content`, give batches of LANDED."""
        for batch in batches:
            for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
                yield from _batches(_rows(self.parts[path.as_py()], content.as_py()))


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


def _rows(part: FilePart, content: bytes) -> Iterator[tuple[Any, ...]]:
    """Yield the records of a part, and how far that is."""
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
            yield "0", number, part.modified_us, 0, http, loss_event(piece.text) or piece.text, *_NO_FILE
            number += 1
    except NoEvents:
        place = FilePlace(OTHER, part.end)
    mark = mark_of(content, marked(place, part.end) - part.offset) if place != part.before.place else part.before.mark
    yield *_NO_RECORD, part.file, *place, mark, whole


_NO_FILE = (None,) * 6
_NO_RECORD = (None,) * 6


def _moved(place: FilePlace, by: int) -> FilePlace:
    """Return a place in a file as one in what is read of it, or back; only what is cut has an offset: lines."""
    return place._replace(position=place.position + by)


def _no_claim(_: bytes) -> NoReturn:
    raise GiveUp("Files of lines name no large bodies.")


def _batches(rows: Iterable[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    some: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        some.append(row)
        size += len(row[5] or b"")
        if len(some) == _CHUNK or size > _CHUNK_BYTES:
            yield _batch(some)
            some, size = [], 0
    if some:
        yield _batch(some)


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
