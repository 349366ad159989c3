"""Table `measures`: the numbers that runs report about datasets over time, such as row counts.

A row contains what one run reports about one dataset, from its newest event with numbers. The newest rows of a series
are all stored, and one row per day before them, so the size of a series has a bound. See `MAX_ROWS`.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from functools import reduce
from typing import NamedTuple

from msgspec import Struct, msgpack

from headwater.events.statistics_facets import MEASURED, READ, WRITTEN, ColumnNumbers, Number, decode_numbers
from headwater.index.stored.numbers import RunNumbers
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import RunFacts

RECENT_ROWS: dict[int, int] = {READ: 400, WRITTEN: 1_500, MEASURED: 400}
"""The number of newest rows of a series that are stored, by kind. An hourly writer reaches 62 days."""

MAX_DAYS = 800
"""The number of days before the newest row, each of which has at least one row."""

_MORE = 100
"""The number of additional rows that a series may have before the next cleanup."""

MAX_ROWS = {kind: rows + MAX_DAYS + _MORE for kind, rows in RECENT_ROWS.items()}
"""The maximum number of rows of a series, by kind."""

DAY_US = 86_400_000_000

_MOST = (1 << 63) - 1

_encode = msgpack.Encoder().encode


class StoredNumbers(Struct, array_like=True, frozen=True, gc=False):
    """The numbers of a row: rows, bytes and files, and the numbers of columns by name."""

    rows: Number
    bytes: Number
    files: Number
    columns: dict[str, ColumnNumbers] = {}


numbers_from = msgpack.Decoder(StoredNumbers).decode

MERGE = "merge_numbers"

_INSERT = (
    "INSERT INTO measures VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET time_us = excluded.time_us, "
    f"value = CASE WHEN excluded.time_us > time_us THEN excluded.value ELSE {MERGE}(value, excluded.value) END "
    "WHERE excluded.time_us > time_us OR excluded.time_us = time_us AND excluded.value <> value"
)
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM measures WHERE name = ? AND kind = ? LIMIT ?)"
_NEWEST = "SELECT time_us FROM measures WHERE name = ? AND kind = ? ORDER BY time_us DESC LIMIT 1"
_OLDEST_RECENT = f"{_NEWEST} OFFSET ?"
_DELETE_OLDER = (
    "DELETE FROM measures WHERE name = ?1 AND kind = ?2 AND time_us < ?3 AND (time_us < ?4 OR EXISTS ("
    "SELECT 1 FROM measures n WHERE n.name = ?1 AND n.kind = ?2 AND n.time_us >= measures.time_us "
    f"AND n.time_us < measures.time_us - measures.time_us % {DAY_US} + {DAY_US} "
    "AND (n.time_us, n.run) > (measures.time_us, measures.run)))"
)
"""Deletes the rows before ?3 that are not the last ones of their days (UTC), and all rows before ?4."""


class SentName(NamedTuple):
    """The name of a dataset in an event.

    number: of its canonical name. part: the name as sent if it names a part, such as a partition; None for the whole.
    """

    number: int
    part: Name | None = None


class MeasureTable:
    """Collects the numbers in events and writes them in `flush`.

    The newest event of a run with numbers counts. Of several at one time, the greater numbers count, so that the order
    of events does not matter. An event whose time is not credible (rule 1.3) does not count.
    """

    def __init__(self, connection: sqlite3.Connection, runs: RunNumbers):
        self._sql, self._runs = connection, runs
        self._rows: dict[tuple[int, int, str], tuple[int, StoredNumbers]] = {}
        self._written: dict[tuple[int, int], int] = {}
        connection.create_function(MERGE, 2, _merged_values, deterministic=True)

    def add_event(self, fact: RunFacts, statistics: str, name_at: Callable[[int], SentName | None]) -> None:
        """Add the numbers of an event.

        statistics: see `encode_numbers`. name_at: returns the name of the dataset at a position.
        """
        if not fact.order.credible:
            return
        of_names: dict[tuple[int, int], dict[Name | None, StoredNumbers]] = {}
        for place, kind, rows, size, files, columns in decode_numbers(statistics):
            name = name_at(place)
            if name is not None:
                of_parts, found = (
                    of_names.setdefault((name.number, kind), {}),
                    StoredNumbers(rows, size, files, columns),
                )
                known = of_parts.get(name.part)
                of_parts[name.part] = found if known is None else merged_numbers(known, found)
        for series, of_parts in of_names.items():
            self._add_row((*series, fact.run_key), fact.time_us, _total_numbers(of_parts))

    def _add_row(self, key: tuple[int, int, str], time_us: int, numbers: StoredNumbers) -> None:
        known = self._rows.get(key)
        if known is None or known[0] < time_us:
            self._rows[key] = time_us, numbers
        elif known[0] == time_us:
            self._rows[key] = time_us, merged_numbers(known[1], numbers)

    def flush(self) -> None:
        """Write everything that was added since the last call. Call it after the runs have been written."""
        if not self._rows:
            return
        runs, written = self._runs, self._written
        self._sql.executemany(
            _INSERT,
            [
                (name, kind, us, runs[run], _encode_numbers(numbers))
                for (name, kind, run), (us, numbers) in self._rows.items()
            ],
        )
        for series, rows in Counter((name, kind) for name, kind, _ in self._rows).items():
            before = written.get(series)
            if before is None:  # the rows of earlier processes are not counted
                most = MAX_ROWS[series[1]]
                is_due = self._sql.execute(_COUNT, (*series, most)).fetchone()[0] > most - _MORE
            else:
                is_due = before + rows > _MORE
            is_due |= rows > _MORE
            if is_due:
                self._delete_older(*series)
            written[series] = 0 if is_due else (before or 0) + rows
        self._rows.clear()

    def _delete_older(self, name: int, kind: int) -> None:
        recent = self._sql.execute(_OLDEST_RECENT, (name, kind, RECENT_ROWS[kind] - 1)).fetchone()
        if recent is not None:
            newest = self._sql.execute(_NEWEST, (name, kind)).fetchone()
            first_day_us = (newest[0] // DAY_US - MAX_DAYS) * DAY_US
            self._sql.execute(_DELETE_OLDER, (name, kind, recent[0], first_day_us))


def merged_numbers(one: StoredNumbers, other: StoredNumbers) -> StoredNumbers:
    """Return the numbers that two reports about the same data contain: of each the greater, of minima the smaller."""
    columns = {**one.columns}
    for name, found in other.columns.items():
        known = columns.get(name)
        columns[name] = found if known is None else _merged_column(known, found)
    return StoredNumbers(
        _greater(one.rows, other.rows), _greater(one.bytes, other.bytes), _greater(one.files, other.files), columns
    )


def _total_numbers(of_parts: Mapping[Name | None, StoredNumbers]) -> StoredNumbers:
    """Return the numbers of a dataset from those of its parts (by name), and of the whole (None)."""
    parts = [numbers for part, numbers in of_parts.items() if part is not None]
    total = reduce(_added_numbers, parts) if parts else of_parts[None]
    return merged_numbers(total, of_parts[None]) if parts and None in of_parts else total


def _added_numbers(one: StoredNumbers, other: StoredNumbers) -> StoredNumbers:
    """Add the numbers of two parts. How many values are distinct in both is unknown, so the greater number counts."""
    columns = {**one.columns}
    for name, found in other.columns.items():
        known = columns.get(name)
        if known is None:
            columns[name] = found
        else:
            columns[name] = _added(known[0], found[0]), *_merged_column(known, found)[1:]
    return StoredNumbers(
        _added(one.rows, other.rows), _added(one.bytes, other.bytes), _added(one.files, other.files), columns
    )


def _merged_column(one: ColumnNumbers, other: ColumnNumbers) -> ColumnNumbers:
    nulls, distinct, least, most = (_greater(*pair) for pair in zip(one, other, strict=True))
    if one[2] is not None and other[2] is not None:
        least = min(one[2], other[2])
    return nulls, distinct, least, most


def _greater(one: Number, other: Number) -> Number:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _added(one: Number, other: Number) -> Number:
    if one is None or other is None:
        return other if one is None else one
    return min(one + other, _MOST)


def _encode_numbers(numbers: StoredNumbers) -> bytes:
    counts = numbers.rows, numbers.bytes, numbers.files
    return _encode((*counts, dict(sorted(numbers.columns.items()))) if numbers.columns else counts)


def _merged_values(one: bytes, other: bytes) -> bytes:
    return _encode_numbers(merged_numbers(numbers_from(one), numbers_from(other)))
