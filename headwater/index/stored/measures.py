"""Table `measures`: the numbers that runs report about datasets over time, such as row counts.

A row contains what one event reports about one dataset. The newest rows of a series are all stored, and one row per day
before them, so the size of a series has a bound. See `MAX_ROWS`.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable

from msgspec import Struct, msgpack

from headwater.events.statistics_facets import MEASURED, READ, WRITTEN, ColumnNumbers, Number, decode_numbers
from headwater.index.stored.numbers import RunNumbers
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

_encode = msgpack.Encoder().encode


class StoredNumbers(Struct, array_like=True, frozen=True, gc=False):
    """The numbers of a row: rows, bytes and files, and the numbers of columns by name."""

    rows: Number
    bytes: Number
    files: Number
    columns: dict[str, ColumnNumbers] = {}


numbers_from = msgpack.Decoder(StoredNumbers).decode

_INSERT = (
    "INSERT INTO measures VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value) "
    "WHERE excluded.value <> value"
)
_NEWEST = "SELECT time_us FROM measures WHERE name = ? AND kind = ? ORDER BY time_us DESC LIMIT 1"
_OLDEST_RECENT = f"{_NEWEST} OFFSET ?"
_DELETE_OLDER = (
    "DELETE FROM measures WHERE name = ?1 AND kind = ?2 AND time_us < ?3 AND (time_us < ?4 OR EXISTS ("
    "SELECT 1 FROM measures n WHERE n.name = ?1 AND n.kind = ?2 AND n.time_us >= measures.time_us "
    f"AND n.time_us < measures.time_us - measures.time_us % {DAY_US} + {DAY_US} "
    "AND (n.time_us, n.run) > (measures.time_us, measures.run)))"
)
"""Deletes the rows before ?3 that are not the last ones of their days (UTC), and all rows before ?4."""


class MeasureTable:
    """Collects the numbers in events and writes them in `flush`.

    Of several events of a run at one time, the greater value is stored, so that the order of events does not matter.
    """

    def __init__(self, connection: sqlite3.Connection, runs: RunNumbers):
        self._sql, self._runs = connection, runs
        self._rows: dict[tuple[int, int, int, str], bytes] = {}
        self._written: Counter[tuple[int, int]] = Counter()

    def add_event(self, fact: RunFacts, statistics: str, name_at: Callable[[int], int | None]) -> None:
        """Add the numbers of an event.

        statistics: see `encode_numbers`. name_at: returns the number of the name of the dataset at a position.
        """
        for place, kind, rows, size, files, columns in decode_numbers(statistics):
            name = name_at(place)
            if name is not None:
                key = name, kind, fact.time_us, fact.run_key
                value = _encode((rows, size, files, columns) if columns else (rows, size, files))
                self._rows[key] = max(value, self._rows.get(key, b""))

    def flush(self) -> None:
        """Write everything that was added since the last call. Call it after the runs have been written."""
        if not self._rows:
            return
        runs, written = self._runs, self._written
        self._sql.executemany(
            _INSERT, [(name, kind, us, runs[run], value) for (name, kind, us, run), value in self._rows.items()]
        )
        series = [(name, kind) for name, kind, _, _ in self._rows]
        written.update(series)
        for key in {each for each in series if written[each] > _MORE}:
            self._delete_older(*key)
            del written[key]
        self._rows.clear()

    def _delete_older(self, name: int, kind: int) -> None:
        recent = self._sql.execute(_OLDEST_RECENT, (name, kind, RECENT_ROWS[kind] - 1)).fetchone()
        if recent is not None:
            newest = self._sql.execute(_NEWEST, (name, kind)).fetchone()
            first_day_us = (newest[0] // DAY_US - MAX_DAYS) * DAY_US
            self._sql.execute(_DELETE_OLDER, (name, kind, recent[0], first_day_us))
