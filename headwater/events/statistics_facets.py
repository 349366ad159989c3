"""Numbers in the facets of datasets: what a run wrote or read, and what it measured in a dataset.

`outputStatistics` and `inputStatistics` are the first source. The reports of Iceberg fill in what these lack.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import json

Kind = Literal[0, 1, 2]
READ: Kind = 0
WRITTEN: Kind = 1
MEASURED: Kind = 2
"""What a run read, what it wrote, and the size of the dataset that it measured."""

Number = int | float | None
ColumnNumbers = tuple[Number, Number, Number, Number]
"""(null count, distinct count, minimum, maximum) of a column. Missing values, and those that are not numbers, are None.
"""

Numbers = tuple[Kind, Number, Number, Number, dict[str, ColumnNumbers]]
"""(kind, rows, bytes, files, numbers of columns by name)"""

METRICS = "dataQualityMetrics"
STATISTICS = frozenset({"inputStatistics", "outputStatistics", METRICS, "icebergScanReport", "icebergCommitReport"})
"""Names of the facets with numbers."""

MAX_COLUMNS = 300
"""Maximum number of columns of a dataset with numbers in one event, the first ones by name."""

_LONGEST_NAME = 300
_MOST = 1 << 63
_MEMBERS = ("rowCount", "size", "fileCount")
_METRICS_MEMBERS = ("rowCount", "bytes", "fileCount")
_COLUMN_COUNTS = ("nullCount", "distinctCount")

PlacedNumbers = tuple[int, Kind, Number, Number, Number, dict[str, ColumnNumbers]]
"""(position of the dataset in the event, kind, rows, bytes, files, numbers of columns by name)"""

_encode = json.Encoder().encode
_decode = json.Decoder(list[PlacedNumbers]).decode


def numbers_in(facets: Mapping[str, Any]) -> tuple[Numbers, ...]:
    """Return the numbers in the decoded facets of a dataset, at most one entry of each kind.

    facets: the facets, the input facets and the output facets, or some of them.
    """
    if STATISTICS.isdisjoint(facets):
        return ()
    found: list[Numbers] = []
    scan, commit = (_member(facets.get(name), part) for name, part in _REPORTS)
    if scan or "inputStatistics" in facets:
        found.append((READ, *_counts(facets.get("inputStatistics"), _MEMBERS, scan, _SCAN), {}))
    if commit or "outputStatistics" in facets:
        found.append((WRITTEN, *_counts(facets.get("outputStatistics"), _MEMBERS, commit, _COMMIT), {}))
    if commit or METRICS in facets:
        metrics = facets.get(METRICS)
        columns = _column_numbers(_member(metrics, "columnMetrics"))
        found.append((MEASURED, *_counts(metrics, _METRICS_MEMBERS, commit, _TOTAL), columns))
    return tuple([each for each in found if not each[1] is each[2] is each[3] is None or each[4]])


def encode_numbers(datasets: Sequence[tuple[Numbers, ...]]) -> str:
    """Return the numbers of an event's datasets as text, empty without any. datasets: inputs before outputs."""
    found = [(place, *each) for place, numbers in enumerate(datasets) for each in numbers]
    return _encode(found).decode() if found else ""


def decode_numbers(text: str) -> list[PlacedNumbers]:
    """Return the numbers of an event's datasets from a text of `encode_numbers` that is not empty."""
    return _decode(text)


_REPORTS = (("icebergScanReport", "scanMetrics"), ("icebergCommitReport", "commitMetrics"))
_SCAN = ("", "totalFileSizeInBytes", "resultDataFiles")
_COMMIT = ("addedRecords", "addedFilesSizeInBytes", "addedDataFiles")
_TOTAL = ("totalRecords", "totalFilesSizeInBytes", "totalDataFiles")


def _counts(value: Any, members: Sequence[str], report: Any, of_report: Sequence[str]) -> tuple[Number, Number, Number]:
    """Return the rows, bytes and files in a facet, completed by the report of Iceberg."""
    found = [_count(_member(value, member)) for member in members]
    if report:
        reported = [_count(_member(report, member)) for member in of_report]
        found = [other if own is None else own for own, other in zip(found, reported, strict=True)]
    rows, size, files = found
    return rows, size, files


def _column_numbers(columns: Any) -> dict[str, ColumnNumbers]:
    found: dict[str, ColumnNumbers] = {}
    if not isinstance(columns, dict):
        return found
    for name in sorted(columns)[:MAX_COLUMNS]:
        nulls, distinct = (_count(_member(columns[name], member)) for member in _COLUMN_COUNTS)
        least, most = (_number(_member(columns[name], member)) for member in ("min", "max"))
        if not nulls is distinct is least is most is None and len(name) <= _LONGEST_NAME:
            found[name] = nulls, distinct, least, most
    return found


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _count(value: Any) -> Number:
    """Return a number of rows, bytes, files or values. Connectors send -1 for an unknown one."""
    found = _number(value)
    return None if found is not None and found < 0 else found


def _number(value: Any) -> Number:
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        if not value.is_integer():
            return value
        value = int(value)
    return value if -_MOST <= value < _MOST else None
