"""Every file of data and lake, decoded: bytes as they are, rows of Parquet, bodies of the log."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from headwater.errors import LogUnavailable
from headwater.eventlog import RecordKind
from headwater.eventlog.body_packing import unpack
from headwater.eventlog.segment_faults import using
from headwater.eventlog.segments import PACKED_SINCE, format_of, open_readonly
from headwater.local.forgetting.wanted import Wanted, value_of

_AT_ONCE = 256

LogRow = tuple[int, RecordKind, str, bytes]
"""Sequence, kind, `http`, body as it was sent."""


def files_with(folders: Sequence[Path], wanted: Wanted, besides: Sequence[Path] = ()) -> tuple[list[Path], int]:
    """Return the files that say what is wanted, and how many were looked at.

    besides: folders that are left out. Raises LogUnavailable, OSError: a file that cannot be read proves nothing.
    """
    found, looked = [], 0
    for path in _files(folders):
        if not any(path.is_relative_to(each) for each in besides):
            looked += 1
            if says(path, wanted):
                found.append(path)
    return found, looked


def says(path: Path, wanted: Wanted) -> bool:
    """Tell whether a file says what is wanted, in its bytes or in what they decode to."""
    if path.suffix == ".parquet" and any(wanted.in_value(row) for row in rows_of(path)):
        return True
    if path.suffix == ".sqlite" and path.parent.name == "log":
        with using(path), closing(open_readonly(path)) as connection:
            form = format_of(connection)
            rows = connection.execute("SELECT sequence, kind, http, body FROM records")
            if any(is_in_record(log_row(row, form), wanted) for row in rows):
                return True
    return wanted.in_bytes(path.read_bytes())


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_AT_ONCE):
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


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    seen: set[Path] = set()
    for folder in folders:
        for place, _, names in os.walk(folder, followlinks=True):  # a log may lie on another disk
            for path in (Path(place, name) for name in sorted(names)):
                if path not in seen and not path.is_symlink():
                    seen.add(path)
                    yield path
