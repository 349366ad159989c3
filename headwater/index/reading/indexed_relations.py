"""The reports of related runs, read from the index file; see `edge_sets.RelatedRuns`."""

import sqlite3
from collections.abc import Iterable

from headwater.index.stored.edge_set_table import EdgeSetTable
from headwater.lineage.edges.current_candidates import INFERRED
from headwater.lineage.edges.edge_sets import Reported
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.related_runs import reported
from headwater.lineage.runs.weighed import Weighed

_BELOW = (
    "WITH RECURSIVE below(run) AS (SELECT run FROM runs WHERE parent = ?1 "
    "UNION SELECT r.run FROM below b JOIN runs r ON r.parent = b.run) "
    "SELECT DISTINCT v.edge_set FROM below b CROSS JOIN votes v ON v.run = b.run WHERE v.weight >= ?2 AND b.run <> ?1"
)
_BESIDE = "SELECT DISTINCT edge_set FROM votes WHERE execution = ? AND weight >= ?"


class SqliteRelatedRuns:
    """The `edge_sets.RelatedRuns` of an index file. It caches what edge sets report, because edge sets never change."""

    def __init__(self, connection: sqlite3.Connection, edge_sets: EdgeSetTable):
        self._sql = connection
        self._edge_sets = edge_sets
        self._reports: Weighed[int, Reported] = Weighed()

    def below(self, run_key: str) -> Reported:
        """Return what the runs below a run report. run_key: the number of the run."""
        return self._together(number for (number,) in self._sql.execute(_BELOW, (run_key, INFERRED)))

    def beside(self, execution: str) -> Reported:
        """Return what the runs of an execution report. execution: its number."""
        return self._together(number for (number,) in self._sql.execute(_BESIDE, (execution, INFERRED)))

    def _together(self, numbers: Iterable[int]) -> Reported:
        found = [self._report(number) for number in list(numbers)]
        empty: frozenset[Name] = frozenset()
        return Reported(empty.union(*(each.covered for each in found)), empty.union(*(each.carried for each in found)))

    def _report(self, number: int) -> Reported:
        found = self._reports.get(number)
        if found is None:
            report = reported([self._edge_sets.edges(number)])
            found = self._reports.keep(number, report, len(report.covered))
        return found
