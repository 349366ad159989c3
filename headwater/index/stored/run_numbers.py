"""Table `run_keys`: numbers for run keys, which are long. A parent gets a number even before its first event."""

import sqlite3
from collections.abc import Iterable, Sequence

from headwater.index.stored.database import chunks, marks
from headwater.lineage.edges.current_candidates import CANDIDATE_ORDER
from headwater.lineage.runs.newest_first import newest_first

_KEEP = 100_000

TIE = "coalesce(v.tie, k.key)"
"""SQL that orders candidates of one instant. `v` is the candidate, `k` the key of its run."""

NEWEST_CANDIDATE = newest_first(
    {**{name: f"v.{name}" for name in CANDIDATE_ORDER}, "tie": TIE}[name] for name in CANDIDATE_ORDER
)
"""ORDER BY for candidates `v` with run keys `k`, newest first. The period comes before the time."""

NEWEST_WRITE = newest_first(("v.time_us", TIE))
"""The same, but only by time."""


class RunNumbers(dict[str, int]):
    """Run keys → numbers. A new key gets a number on access.

    Before format 8, the key itself is the number.
    """

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection. The caller manages its transaction."""
        super().__init__()
        self._sql = connection
        self._next = 0
        self._begun = 0

    def begin(self) -> None:
        """Begin a batch. Runs that get a number from now on are new in it."""
        self._begun = self._first()

    def is_new(self, number: int) -> bool:
        """Return whether a number was assigned in this batch."""
        return number >= self._begun

    def take(self, keys: Iterable[str | None]) -> None:
        """Assign numbers to all these keys at once."""
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
        """Return the numbers of keys, without the keys that have none."""
        found: dict[str, int] = {}
        for some in chunks(keys):
            found.update(self._sql.execute(f"SELECT key, id FROM run_keys WHERE key IN ({marks(some)})", some))
        return found

    def key(self, number: int) -> str:
        """Return the run key for a number."""
        return str(self._sql.execute("SELECT key FROM run_keys WHERE id = ?", (number,)).fetchone()[0])

    def _first(self) -> int:
        if not self._next:  # a batch that was rolled back leaves a gap
            self._next = int(self._sql.execute("SELECT coalesce(max(id), 0) + 1 FROM run_keys").fetchone()[0])
        return self._next
