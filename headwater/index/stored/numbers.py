"""Tables `names` and `run_keys`: the numbers that other tables store instead of names and run keys."""

import sqlite3
from collections.abc import Iterable, Sequence

from headwater.index.stored.database import question_marks, split_for_parameters
from headwater.lineage.edges.candidates import CANDIDATE_ORDER
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import newest_first_sql


class NameNumbers:
    """All names and their numbers, in memory."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection
        self._numbers: dict[Name, int] = {}
        self._names: dict[int, Name] = {}
        self._generations: dict[Name, list[Name]] = {}
        self._newest = 0
        self._before = self._last = 0
        self.refresh()

    def refresh(self) -> None:
        """Read the names that were added since the last call."""
        rows = self._connection.execute(
            "SELECT id, namespace, name, generation FROM names WHERE id > ?", (self._newest,)
        )
        for number, *parts in rows:
            self._newest = max(self._newest, number)
            self._add(Name(*parts), number)

    def begin_batch(self) -> None:
        """Begin a batch. `is_new_in_batch` is true only for names that are stored from now on."""
        self._before = self._last

    def is_new_in_batch(self, number: int) -> bool:
        """Return whether the current batch was the first to use the name with this number."""
        return number > self._before

    def number(self, name: Name) -> int:
        """Return the number of a name. A new name is stored and gets a number."""
        found = self._numbers.get(name)
        if found is None:
            cursor = self._connection.execute("INSERT INTO names(namespace, name, generation) VALUES (?, ?, ?)", name)
            found = int(cursor.lastrowid or 0)
            self._add(name, found)
        return found

    def generations(self, name: Name) -> list[Name]:
        """Return the known generations of a dataset name (rule 10)."""
        return self._generations.get(name.without_generation, [])

    def _add(self, name: Name, number: int) -> None:
        self._last = max(self._last, number)
        self._numbers[name] = number
        self._names[number] = name
        self._generations.setdefault(name.without_generation, []).append(name)

    def find_number(self, name: Name) -> int | None:
        """Return the number of a name, or None if it is not stored."""
        return self._numbers.get(name)

    def name(self, number: int) -> Name:
        """Return the name for a number. Raises KeyError if there is none."""
        return self._names[number]


_KEEP = 100_000

TIE = "coalesce(v.tie, k.key)"
"""SQL that orders candidates with the same time. `v` is the candidate, `k` the row of its run in `run_keys`."""

NEWEST_CANDIDATE = newest_first_sql(
    {**{name: f"v.{name}" for name in CANDIDATE_ORDER}, "tie": TIE}[name] for name in CANDIDATE_ORDER
)
"""ORDER BY for candidates `v` with run keys `k`, newest first: by period, then by time."""

NEWEST_WRITE = newest_first_sql(("v.time_us", TIE))
"""ORDER BY for candidates `v` with run keys `k`, newest first: only by time."""


class RunNumbers(dict[str, int]):
    """The numbers of runs by run key. A new key gets a number when it is looked up with `[]`.

    In files before format 8, the key itself is the number.
    """

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection. The caller manages its transaction."""
        super().__init__()
        self._sql = connection
        self._next = 0
        self._first_new = 0

    def begin_batch(self) -> None:
        """Begin a batch. `is_new_in_batch` is true for runs that get a number from now on."""
        self._first_new = self._first_unused()

    def is_new_in_batch(self, number: int) -> bool:
        """Return whether the run with this number got it in the current batch."""
        return number >= self._first_new

    def assign_all(self, keys: Iterable[str | None]) -> None:
        """Look up the numbers of all these keys, and assign numbers to new keys, with few SQL statements."""
        if len(self) > _KEEP:
            self.clear()
        new = [key for key in dict.fromkeys(keys) if key is not None and key not in self]
        self.update(self.known_numbers(new))
        rows = list(enumerate((key for key in new if key not in self), self._first_unused()))
        self._sql.executemany("INSERT INTO run_keys VALUES (?, ?)", rows)
        self.update((key, number) for number, key in rows)
        self._next += len(rows)

    def __missing__(self, key: str) -> int:
        self.assign_all([key])
        return self[key]

    def known_numbers(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the numbers of run keys, by key. Keys without a number are left out."""
        found: dict[str, int] = {}
        for some in split_for_parameters(keys):
            found.update(self._sql.execute(f"SELECT key, id FROM run_keys WHERE key IN ({question_marks(some)})", some))
        return found

    def key_of_number(self, number: int) -> str:
        """Return the run key for a number."""
        return str(self._sql.execute("SELECT key FROM run_keys WHERE id = ?", (number,)).fetchone()[0])

    def _first_unused(self) -> int:
        if not self._next:  # read only once: numbers of a batch that was rolled back stay unused
            self._next = int(self._sql.execute("SELECT coalesce(max(id), 0) + 1 FROM run_keys").fetchone()[0])
        return self._next
