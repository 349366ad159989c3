"""What a batch of runs says, held against what they said before, and written at once."""

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
"""Whether an execution says something else of a job output, by an index: it may have said the same a million times."""

_REWRITES = 1 + COLUMNS.split(", ").index("rewrites")

Cells = tuple[Any, ...]
"""The columns of a candidate but its run: `grp`, then `COLUMNS`."""


class CandidateBatch:
    """The candidates of some runs; nothing is written before `write`."""

    def __init__(self, connection: sqlite3.Connection, runs: Sequence[int], executions: Sequence[int]):
        """Read what these runs have said so far; executions: those of which earlier batches knew."""
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
        """Replace what a run says, once in a batch; returns the job outputs where that is something else."""
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
        """Tell whether what a run said or says in a job output is a whole rewrite."""
        before = self._before.get(run, {}).get(number)
        return any(bool(cells[_REWRITES]) for cells in (before, after) if cells)

    def is_new(self, run: int, number: int) -> bool:
        """Tell whether a run had said nothing in a job output."""
        return number not in self._before.get(run, ())

    def says_only(self, execution: int, number: int, edge_set: int) -> bool:
        """Tell whether an execution says nothing else in a job output, and has not said so before in this batch."""
        if not self._lineage[execution, number] <= {edge_set}:
            return False
        key = execution, number, edge_set
        if execution in self._executions and key not in self._others:
            self._others[key] = self._sql.execute(_SAYS_OTHER, key).fetchone() is not None
        return not self._others.get(key, False)

    def write(self, edge_sets: EdgeSetTable) -> None:
        """Write the candidates, then the runs of each edge set."""
        lost = {self._before[run][number][-1] for run, number in self._gone}
        times: dict[int, list[int]] = defaultdict(list)
        for candidate in self._new:
            times[candidate[-1]].append(candidate[2])
        self._sql.executemany("DELETE FROM votes WHERE run = ? AND grp = ?", self._gone)
        self._sql.executemany("INSERT INTO votes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._new)
        edge_sets.add_runs({number: found for number, found in times.items() if number not in lost})
        edge_sets.recount(lost)
