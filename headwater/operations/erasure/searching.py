"""Search every file of data folder and lake in decoded form: bytes, rows of Parquet, bodies of the log."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import RecordKind
from headwater.intake.event_log.body_packing import unpack
from headwater.intake.event_log.segment_faults import using
from headwater.intake.event_log.segments import PACKED_SINCE, format_of, open_readonly
from headwater.operations.erasure.forget_targets import ForgetTarget, value_of
from headwater.operations.local.lake_files import LakeFiles

AT_ONCE = 256
"""Number of rows decoded in one step."""

LogRow = tuple[int, RecordKind, str, bytes]
"""Sequence, kind, `http`, body as sent."""


def matching_files(paths: Iterable[Path], target: ForgetTarget) -> tuple[list[Path], int]:
    """Return the matching files of this machine, and the number of files searched.

    Raises LogUnavailable or OSError, since a file that cannot be read proves nothing.
    """
    found, looked = [], 0
    for path in paths:
        looked += 1
        if is_in_segment(path, target) or is_in_content(path.name, path.read_bytes(), target):
            found.append(path)
    return found, looked


def matching_lake_files(files: LakeFiles, names: Iterable[str], target: ForgetTarget) -> tuple[list[str], int]:
    """Return the matching files of the lake by name, and the number of files searched; deleted files do not match."""
    found, looked = [], 0
    for name in names:
        looked += 1
        content = files.read(name)
        if content is not None and is_in_content(name, content, target):
            found.append(name)
    return found, looked


def is_in_segment(path: Path, target: ForgetTarget) -> bool:
    """Return whether a segment of the log matches; False for any other file."""
    if path.suffix != ".sqlite" or path.parent.name != "log":
        return False
    with using(path), closing(open_readonly(path)) as connection:
        form = format_of(connection)
        rows = connection.execute("SELECT sequence, kind, http, body FROM records")
        return any(is_in_record(log_row(row, form), target) for row in rows)


def is_in_content(name: str, content: bytes, target: ForgetTarget) -> bool:
    """Return whether a file matches, in its bytes or, for Parquet, in its decoded rows."""
    if name.endswith(".parquet") and any(target.in_value(row) for row in _rows_of(content)):
        return True
    return target.in_bytes(content)


def _rows_of(content: bytes) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        for batch in file.iter_batches(AT_ONCE):
            yield from batch.to_pylist()


def log_row(row: tuple[int, int, str, bytes], form: int) -> LogRow:
    """Return a row of table `records` with its body unpacked; form: format of the segment. Raises LogUnavailable."""
    sequence, kind, http, body = row
    try:
        unpacked = unpack(body) if kind == RecordKind.EVENT and form >= PACKED_SINCE else body
    except ValueError as error:
        raise LogUnavailable(f"Record {sequence} of the log cannot be unpacked: {error}.") from error
    return sequence, RecordKind(kind), http, unpacked


def is_in_record(row: LogRow, target: ForgetTarget) -> bool:
    """Return whether a record of the log matches; large bodies are searched separately."""
    _, _, http, body = row
    return target.in_value(value_of(body)) or target.in_value(value_of(http.encode("utf-8", "replace")))
