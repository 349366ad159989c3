"""What datasets are now, in the index's file: schema, columns, whether they are gone; a batch is read and written once.

An event may mention tens of thousands of them, and a statement for each of them costs more than what it says.
"""

import sqlite3
from collections.abc import Iterable

from headwater.index.stored.database import chunks, marks

_COLUMNS = ("schema", "nests", "shown", "dropped", "spellings")

_Cell = str | int | None

_UNKNOWN: tuple[_Cell, ...] = (None, 0, None, 0, None)
"""What the table has of a dataset of which nothing was said yet, as its columns' defaults are."""


class DatasetTable:
    """Takes what follows of datasets; nothing is written before `flush`."""

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection; the caller holds its transaction."""
        self._sql = connection
        self._before: dict[int, tuple[_Cell, ...]] = {}
        self._after: dict[int, dict[str, _Cell]] = {}

    def look(self, names: Iterable[int]) -> None:
        """Read what is known of some datasets, by the numbers of their names; before the first `set` of each."""
        asked = [number for number in dict.fromkeys(names) if number not in self._after]
        query = f"SELECT name, {', '.join(_COLUMNS)} FROM datasets WHERE name IN ({{}})"
        for some in chunks(asked):
            rows = self._sql.execute(query.format(marks(some)), some)
            self._before.update((number, tuple(cells)) for number, *cells in rows)
        for number in asked:
            self._after[number] = dict(zip(_COLUMNS, self._before.get(number, _UNKNOWN), strict=True))

    def text(self, name: int, column: str) -> str | None:
        """Return a text that is known of a dataset that was looked at."""
        value = self._after[name][column]
        return value if isinstance(value, str) else None

    def set(self, name: int, column: str, value: _Cell) -> bool:
        """Set what is known of a dataset that was looked at; tells whether that is new."""
        cells = self._after[name]
        changed = cells[column] != value
        cells[column] = value
        return changed

    def flush(self, generation: int) -> None:
        """Write what is new, as of a generation."""
        after = {number: tuple(cells.values()) for number, cells in self._after.items()}
        unlike = [
            (number, *cells, generation if cells != self._before.get(number, _UNKNOWN) else 0)
            for number, cells in after.items()
            if cells != self._before.get(number)
        ]
        self._sql.executemany(
            f"INSERT OR REPLACE INTO datasets(name, {', '.join(_COLUMNS)}, generation) VALUES (?, ?, ?, ?, ?, ?, ?)",
            unlike,
        )
        self._before.clear()
        self._after.clear()
