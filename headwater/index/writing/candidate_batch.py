"""The candidates of a batch of runs, compared with their stored candidates and written at once."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.index.stored.database import chunks, marks
from headwater.index.stored.edge_set_table import EdgeSetTable

COLUMNS = "time_us, tie, execution, started_us, last_us, weight, landed, rewrites, period_us, edge_set"

_SAYS_OTHER = " UNION ALL ".join(
    f"SELECT 1 FROM votes WHERE execution = ?1 AND grp = ?2 AND edge_set {than} ?3" for than in "<>"
) + " LIMIT 1"  # fmt: skip
"""Selects whether an execution reports another edge set for a job output.

It uses an SQL index, because the execution may have a million rows with the same edge set.
"""

_REWRITES = 1 + COLUMNS.split(", ").index("rewrites")

Cells = tuple[Any, ...]
"""The columns of a candidate except its run: `grp`, then `COLUMNS`."""


class CandidateBatch:
    """The candidates of some runs. Changes are written in `write`."""

    def __init__(self, connection: sqlite3.Connection, runs: Sequence[int], executions: Sequence[int]):
        """Read the stored candidates of these runs. executions: those that earlier batches have stored."""
        self._sql = connection
        self._before: dict[int, dict[int, Cells]] = defaultdict(dict)
        self._lineage: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._gone: list[tuple[int, int]] = []
        self._new: list[tuple[Any, ...]] = []
        for some in chunks(runs):
            query = f"SELECT run, grp, {COLUMNS} FROM votes WHERE run IN ({marks(some)})"
            for run, *cells in connection.execute(query, some):
                self._before[run][cells[0]] = tuple(cells)
        self._executions = frozenset(executions)
        self._others: dict[tuple[int, int, int], bool] = {}

    def replace(self, run: int, after: Mapping[int, Cells]) -> list[int]:
        """Replace the candidates of a run. Return the job outputs that changed. Call it once per run and batch."""
        before = self._before.get(run, {})
        changed = [number for number in before.keys() | after.keys() if before.get(number) != after.get(number)]
        for number in changed:
            if number in before:
                self._gone.append((run, number))
            if number in after:
                self._new.append((run, *after[number]))
                self._lineage[after[number][3], number].add(after[number][-1])
        return changed

    def rewrites(self, run: int, number: int, after: Cells | None) -> bool:
        """Return whether the stored or the new candidate of a run in a job output is a whole rewrite."""
        before = self._before.get(run, {}).get(number)
        return any(bool(cells[_REWRITES]) for cells in (before, after) if cells)

    def is_new(self, run: int, number: int) -> bool:
        """Return whether a run had no stored candidate in a job output."""
        return number not in self._before.get(run, ())

    def says_only(self, execution: int, number: int, edge_set: int) -> bool:
        """Return whether an execution reports only this edge set for a job output.

        This covers the reports of earlier batches and of this one.
        """
        if not self._lineage[execution, number] <= {edge_set}:
            return False
        key = execution, number, edge_set
        if execution in self._executions and key not in self._others:
            self._others[key] = self._sql.execute(_SAYS_OTHER, key).fetchone() is not None
        return not self._others.get(key, False)

    def write(self, edge_sets: EdgeSetTable) -> None:
        """Write the candidates, then update the run counts of the edge sets."""
        lost = {self._before[run][number][-1] for run, number in self._gone}
        times: dict[int, list[int]] = defaultdict(list)
        for candidate in self._new:
            times[candidate[-1]].append(candidate[2])
        self._sql.executemany("DELETE FROM votes WHERE run = ? AND grp = ?", self._gone)
        self._sql.executemany("INSERT INTO votes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._new)
        edge_sets.add_runs({number: found for number, found in times.items() if number not in lost})
        edge_sets.recount(lost)
