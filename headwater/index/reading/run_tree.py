"""Runs as a tree: the runs above a run, and pages of the runs below it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from headwater.common.errors import NotKnown
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_history import RunHistory
from headwater.lineage.names.dataset_name import Name

_CHILDREN = (
    "WITH child(run) AS (SELECT run FROM runs WHERE parent = ?1 AND run <> ?1 "
    "UNION SELECT r.parent FROM runs r WHERE r.execution = ?1 AND r.run <> ?1 AND r.parent <> ?1 "
    "AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.run = r.parent)) "
)
"""Selects the children of a run. The second half adds runs without events between an execution and its parts."""

_NODE = (
    "SELECT k.id, k.key, r.state, coalesce(r.started_us, (SELECT min(c.started_us) FROM runs c WHERE c.parent = k.id)) "
    "AS began, r.ended_us, (SELECT count(*) FROM runs c WHERE c.parent = k.id AND c.run <> k.id), r.parent, "
    "r.execution, coalesce(r.job, (SELECT j.parent FROM runs c JOIN jobs j ON j.key = c.job_key "
    "WHERE c.parent = k.id LIMIT 1)) "
)
_HIGHEST = 32
"""How many ancestors are read at most."""


class TreeRun(NamedTuple):
    """A run in the tree. job, state: None if unknown, as for a run without events. Times are in microseconds, UTC.

    children: the number of runs whose parent it is. parent, execution: numbers of runs.
    """

    number: int
    key: str
    state: str | None
    started_us: int | None
    ended_us: int | None
    children: int
    parent: int | None
    execution: int | None
    job: Name | None


class RunTree:
    """The tree of runs in one generation of the index."""

    def __init__(self, live: LiveGraph):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self._live, self._sql, self._names = live, live.sql, live.names

    def find(self, run_id: str) -> TreeRun:
        """Return a run by its id, even if only other runs name it. Raises the same errors as `RunHistory.key`."""
        try:
            key = RunHistory(self._live).key(run_id)
        except NotKnown:
            key = run_id.lower()
            named = (
                "SELECT 1 FROM run_keys k JOIN runs r ON r.parent = k.id OR r.execution = k.id WHERE k.key = ? LIMIT 1"
            )
            if not self._sql.execute(named, (key,)).fetchone():
                raise
        return self._one("k.key = ?", key)

    def above(self, run: TreeRun) -> list[TreeRun]:
        """Return the ancestors of a run, the nearest first, up to its execution."""
        found = [run]
        while found[-1].parent is not None and len(found) <= _HIGHEST:
            if any(each.number == found[-1].parent for each in found):
                break
            found.append(self._one("k.id = ?", found[-1].parent))
        roots = [each.execution for each in found if each.execution is not None]
        if roots and all(each.number != roots[-1] for each in found):
            found.append(self._one("k.id = ?", roots[-1]))
        return found[1:]

    def below(self, run: TreeRun, limit: int, offset: int) -> list[TreeRun]:
        """Return a page of a run's children, ordered by their start."""
        rows = self._sql.execute(
            f"{_CHILDREN} {_NODE} FROM child JOIN run_keys k ON k.id = child.run LEFT JOIN runs r ON r.run = k.id "
            "ORDER BY began, k.key LIMIT ?2 OFFSET ?3",
            (run.number, limit, offset),
        )
        return [self._read(row) for row in rows]

    def states(self, run: TreeRun) -> Iterator[tuple[str | None, int]]:
        """Yield the number of a run's children in each state."""
        query = (
            f"{_CHILDREN} SELECT r.state, count(*) FROM child LEFT JOIN runs r ON r.run = child.run GROUP BY r.state"
        )
        return iter(self._sql.execute(query, (run.number,)).fetchall())

    def _one(self, where: str, value: str | int) -> TreeRun:
        query = f"{_NODE} FROM run_keys k LEFT JOIN runs r ON r.run = k.id WHERE {where}"
        return self._read(self._sql.execute(query, (value,)).fetchone())

    def _read(self, row: tuple[Any, ...]) -> TreeRun:
        return TreeRun._make((*row[:-1], self._names.name(row[-1]) if row[-1] else None))
