"""Convert posted bodies to events: inflate gzip, split lists, and convert reports of lost events."""

import zlib
from collections.abc import Iterable, Iterator

import pyarrow as pa

from headwater.common.errors import InvalidEvent
from headwater.events.envelope import split_batch
from headwater.events.event_files import LARGEST_DOCUMENT
from headwater.events.transport_losses import loss_event

RECORD = "file string, begin long, received_us long, kind int, http binary, body binary"

_GZIP = b"\x1f\x8b"
_CHUNK = 512


def unpack_posted_bodies(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert batches of `RECORD` with posted bodies to batches of `RECORD` with one event per row.

    A body that cannot be read stays as it is, in one row.
    """
    for batch in batches:
        bodies = [list(events_of_body(body)) for body in batch.column("body").to_pylist()]
        rows = pa.array([row for row, texts in enumerate(bodies) for _ in texts], pa.int64())
        texts = pa.array([text for texts in bodies for text in texts], pa.binary())
        taken = batch.take(rows)
        found = taken.set_column(taken.schema.get_field_index("body"), "body", texts)
        yield from (found.slice(first, _CHUNK) for first in range(0, found.num_rows, _CHUNK))


def events_of_body(body: bytes) -> Iterator[bytes]:
    """Yield the events of one body. Yields a damaged body as one event, which the ingest rejects later."""
    text = _inflate_body(body).strip()
    if text.startswith(b"["):
        try:
            yield from (loss_event(item) or item for item in split_batch(text))
        except InvalidEvent:
            yield text
    else:
        yield loss_event(text) or text


def _inflate_body(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        text = inflater.decompress(body, LARGEST_DOCUMENT)
    except zlib.error:
        return body
    return text if inflater.eof else body
