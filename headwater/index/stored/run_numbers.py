"""Runs by number: their keys, which are long, stand once; a run's parent has a number before any event of it came."""

import sqlite3
from collections.abc import Iterable, Sequence

from headwater.index.stored.database import chunks, marks
from headwater.lineage.edges.current_candidates import CANDIDATE_ORDER
from headwater.lineage.runs.newest_first import newest_first

_KEEP = 100_000

TIE = "coalesce(v.tie, k.key)"
"""What orders candidates of one instant: `v` is one, `k` the key of its run."""

NEWEST_CANDIDATE = newest_first(
    {**{name: f"v.{name}" for name in CANDIDATE_ORDER}, "tie": TIE}[name] for name in CANDIDATE_ORDER
)
"""ORDER BY of candidates `v` and the keys `k` of their runs, newest first; one of an older period is older."""

NEWEST_WRITE = newest_first(("v.time_us", TIE))
"""The same by time alone."""


class RunNumbers(dict[str, int]):
    """Keys of runs → their numbers; a key that has none is given one.

    In a file of before format 8 the key itself is the number.
    """

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection; the caller holds its transaction."""
        super().__init__()
        self._sql = connection
        self._next = 0
        self._begun = 0

    def begin(self) -> None:
        """Begin a batch: numbers that are new in it have nothing behind them yet."""
        self._begun = self._first()

    def is_new(self, number: int) -> bool:
        """Tell whether a number is given for the first time in this batch."""
        return number >= self._begun

    def take(self, keys: Iterable[str | None]) -> None:
        """Give each of these keys a number, all at once."""
        if len(self) > _KEEP:
            self.clear()
        new = [key for key in dict.fromkeys(keys) if key is not None and key not in self]
        self.update(self.known(new))
        rows = list(enumerate((key for key in new if key not in self), self._first()))
        self._sql.executemany("INSERT INTO run_keys VALUES (?, ?)", rows)
        self.update((key, number) for number, key in rows)
        self._next += len(rows)

    def __missing__(self, key: str) -> int:
        self.take([key])
        return self[key]

    def known(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those of these keys that have one."""
        found: dict[str, int] = {}
        for some in chunks(keys):
            found.update(self._sql.execute(f"SELECT key, id FROM run_keys WHERE key IN ({marks(some)})", some))
        return found

    def key(self, number: int) -> str:
        """Return the key of a number."""
        return str(self._sql.execute("SELECT key FROM run_keys WHERE id = ?", (number,)).fetchone()[0])

    def _first(self) -> int:
        if not self._next:  # a batch that failed leaves a gap
            self._next = int(self._sql.execute("SELECT coalesce(max(id), 0) + 1 FROM run_keys").fetchone()[0])
        return self._next
