"""Every file of data and lake, decoded: bytes as they are, rows of Parquet, bodies of the log."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.errors import LogUnavailable
from headwater.eventlog import RecordKind
from headwater.eventlog.body_packing import unpack
from headwater.eventlog.segment_faults import using
from headwater.eventlog.segments import PACKED_SINCE, format_of, open_readonly
from headwater.local.forgetting.wanted import Wanted, value_of
from headwater.local.lake_files import LakeFiles

AT_ONCE = 256
"""Rows that are decoded at once."""

LogRow = tuple[int, RecordKind, str, bytes]
"""Sequence, kind, `http`, body as it was sent."""


def files_with(paths: Iterable[Path], wanted: Wanted) -> tuple[list[Path], int]:
    """Return the files of this machine that say what is wanted, and how many were looked at.

    Raises LogUnavailable, OSError: a file that cannot be read proves nothing.
    """
    found, looked = [], 0
    for path in paths:
        looked += 1
        if is_in_segment(path, wanted) or is_in_content(path.name, path.read_bytes(), wanted):
            found.append(path)
    return found, looked


def stored_with(files: LakeFiles, names: Iterable[str], wanted: Wanted) -> tuple[list[str], int]:
    """Return the same of files of the lake, by their names; one that has gone says nothing."""
    found, looked = [], 0
    for name in names:
        looked += 1
        content = files.read(name)
        if content is not None and is_in_content(name, content, wanted):
            found.append(name)
    return found, looked


def is_in_segment(path: Path, wanted: Wanted) -> bool:
    """Tell whether a segment of the log says what is wanted; False for any other file."""
    if path.suffix != ".sqlite" or path.parent.name != "log":
        return False
    with using(path), closing(open_readonly(path)) as connection:
        form = format_of(connection)
        rows = connection.execute("SELECT sequence, kind, http, body FROM records")
        return any(is_in_record(log_row(row, form), wanted) for row in rows)


def is_in_content(name: str, content: bytes, wanted: Wanted) -> bool:
    """Tell whether a file says what is wanted, in its bytes or, of Parquet, in the rows that they decode to."""
    if name.endswith(".parquet") and any(wanted.in_value(row) for row in _rows_of(content)):
        return True
    return wanted.in_bytes(content)


def _rows_of(content: bytes) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        for batch in file.iter_batches(AT_ONCE):
            yield from batch.to_pylist()


def log_row(row: tuple[int, int, str, bytes], form: int) -> LogRow:
    """Return a row of table `records`, its body unpacked; form: of its segment. Raises LogUnavailable if it cannot."""
    sequence, kind, http, body = row
    try:
        unpacked = unpack(body) if kind == RecordKind.EVENT and form >= PACKED_SINCE else body
    except ValueError as error:
        raise LogUnavailable(f"Record {sequence} of the log cannot be unpacked: {error}.") from error
    return sequence, RecordKind(kind), http, unpacked


def is_in_record(row: LogRow, wanted: Wanted) -> bool:
    """Tell whether a record of the log says what is wanted; a large body lies elsewhere."""
    _, _, http, body = row
    return wanted.in_value(value_of(body)) or wanted.in_value(value_of(http.encode("utf-8", "replace")))
