"""Table `periods`: the nominal times of runs (rule 6.1)."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

from headwater.index.stored.database import chunks, marks
from headwater.index.stored.run_numbers import RunNumbers
from headwater.lineage.runs.nominal_times import Above, everything_below, latest
from headwater.lineage.runs.run_facts import RunFacts

_BELOW = (
    "SELECT c.key FROM run_keys k JOIN runs r ON r.parent = k.id JOIN run_keys c ON c.id = r.run WHERE k.key IN ({0}) "
    "UNION SELECT c.key FROM run_keys k JOIN runs r ON r.execution = k.id AND r.execution <> r.run "
    "JOIN run_keys c ON c.id = r.run WHERE k.key IN ({0})"
)


class NominalTimeTable:
    """The `nominal_times.NominalTimes` of an index file."""

    def __init__(self, connection: sqlite3.Connection, runs: RunNumbers, facts_of: Callable[[str], Sequence[RunFacts]]):
        self._sql = connection
        self._runs = runs
        self._above = Above(facts_of)
        self._any = bool(connection.execute("SELECT 1 FROM periods LIMIT 1").fetchone())
        self._times: dict[str, int | None] = {}
        self._changed: set[str] = set()

    def add(self, facts: Sequence[RunFacts]) -> None:
        """Add the nominal times of new events. Call it after the events have been stored."""
        self._above.forget()
        self._times.clear()
        self._changed.clear()
        for run_key, time_us in latest(facts).items():
            before = self._of(run_key)
            if before is None or time_us > before:
                row = (self._runs[run_key], time_us)
                self._sql.execute("INSERT OR REPLACE INTO periods VALUES (?, ?)", row)
                self._times[run_key] = time_us
                self._changed.add(run_key)
        self._any = self._any or bool(self._changed)
        if self._any:
            self._changed.update(fact.run_key for fact in facts if fact.parent is not None)

    def of(self, run_key: str) -> int | None:
        """Return the nominal time of a run (us), else that of the nearest run above it, else that of its root."""
        if not self._any:
            return None
        times = (self._of(key) for key in self._above.of(run_key))
        return next((time_us for time_us in times if time_us is not None), None)

    def dated_anew(self) -> set[str]:
        """Return the runs whose nominal time the last `add` may have changed.

        These are the runs below the ones that got another nominal time or parent.
        """
        return everything_below(self._changed, self._below)

    def _of(self, run_key: str) -> int | None:
        if run_key not in self._times:
            query = "SELECT n.time_us FROM run_keys k JOIN periods n ON n.run = k.id WHERE k.key = ?"
            row = self._sql.execute(query, (run_key,)).fetchone()
            self._times[run_key] = row[0] if row else None
        return self._times[run_key]

    def _below(self, keys: Iterable[str]) -> Iterator[str]:
        for some in chunks(sorted(keys)):
            for (key,) in self._sql.execute(_BELOW.format(marks(some)), (*some, *some)):
                yield key
