"""Table `datasets`: the current schema, columns and spellings of datasets, and whether they are dropped.

An event may mention tens of thousands of datasets, and one statement for each would cost more than the content. The
table therefore reads and writes all datasets of a batch at once.
"""

import sqlite3
from collections.abc import Iterable

from headwater.index.stored.database import chunks, marks

_COLUMNS = ("schema", "nests", "shown", "dropped", "spellings")

_Cell = str | int | None

_UNKNOWN: tuple[_Cell, ...] = (None, 0, None, 0, None)
"""The cells of a dataset that has no row yet; equal to the columns' defaults."""


class DatasetTable:
    """Collects changes of datasets and writes them in `flush`."""

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection. The caller manages its transaction."""
        self._sql = connection
        self._before: dict[int, tuple[_Cell, ...]] = {}
        self._after: dict[int, dict[str, _Cell]] = {}

    def look(self, names: Iterable[int]) -> None:
        """Load the rows of some datasets, by name number. Required before the first `set` of each dataset."""
        asked = [number for number in dict.fromkeys(names) if number not in self._after]
        query = f"SELECT name, {', '.join(_COLUMNS)} FROM datasets WHERE name IN ({{}})"
        for some in chunks(asked):
            rows = self._sql.execute(query.format(marks(some)), some)
            self._before.update((number, tuple(cells)) for number, *cells in rows)
        for number in asked:
            self._after[number] = dict(zip(_COLUMNS, self._before.get(number, _UNKNOWN), strict=True))

    def text(self, name: int, column: str) -> str | None:
        """Return a text cell of a loaded dataset."""
        value = self._after[name][column]
        return value if isinstance(value, str) else None

    def set(self, name: int, column: str, value: _Cell) -> bool:
        """Set a cell of a loaded dataset. Return whether its value changed."""
        cells = self._after[name]
        changed = cells[column] != value
        cells[column] = value
        return changed

    def flush(self, generation: int) -> None:
        """Write the changed rows with the number of a generation."""
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
