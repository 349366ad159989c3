"""Compute the periods in which edges counted from the candidates of one job output, in order of time."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

from headwater.lineage.edges.candidates import NO_SOURCES, Candidate, candidate_order_key

K = TypeVar("K")


class ValidityInterval(NamedTuple, Generic[K]):
    """A period in which an edge counted without interruption. Times are in microseconds.

    since_us, until_us: the start of the period and its exclusive end; the end is None if the edge still counts.
    last_seen_us: the time of the last run that reported the edge in the period.
    runs: the number of runs that reported the edge in the period.
    rows_confirmed: whether the events of at least one of these runs show that rows were written.
    """

    edge: K
    since_us: int
    until_us: int | None
    last_seen_us: int
    runs: int
    rows_confirmed: bool


class ValidityHistory(Generic[K]):
    """The validity intervals of all edges of one job and output. Candidates are added from old to new.

    The rules are the same as in `select_counted_candidates`. A run counts from its own time on, even if some of its
    events were received later.
    ended: the intervals that have ended.
    """

    def __init__(
        self,
        layer: str,
        candidates: Iterable[Candidate[Sequence[K]]] = (),
        intervals: Iterable[ValidityInterval[K]] = (),
    ):
        """Restore the state after some candidates.

        layer: the layer of the job output, as in `JobOutput`.
        candidates: at least the candidates that count, and the candidates of executions that may still continue.
        intervals: the intervals that have not ended after these candidates.
        """
        self.ended: list[ValidityInterval[K]] = []
        self._observed = layer == "observed"
        self._has_lineage = False
        self._current = self._latest = ""
        self._current_rank: tuple[int, Any] | None = None
        self._latest_rank: Any = None
        self._candidates: dict[str, list[Candidate[Sequence[K]]]] = {}
        self._open_by_edge = {interval.edge: interval for interval in intervals}
        for candidate in sorted(candidates, key=_time_order):
            self._add_candidate(candidate)

    @property
    def open_intervals(self) -> list[ValidityInterval[K]]:
        """The intervals that have not ended after all candidates."""
        return list(self._open_by_edge.values())

    def add(self, candidates: Iterable[Candidate[Sequence[K]]]) -> None:
        """Add candidates that are later than all previous candidates.

        The `lineage` of a candidate must contain each edge only once.
        """
        for time_us, same_time in groupby(sorted(candidates, key=_time_order), key=lambda candidate: candidate.time_us):
            before = self._counting_executions
            fresh = list(same_time)
            for candidate in fresh:
                self._add_candidate(candidate)
            begun = self._counting_executions - before
            if self._counting_executions != before:
                lineage = {
                    edge
                    for execution in self._counting_executions
                    for candidate in self._candidates[execution]
                    for edge in candidate.lineage
                }
                self._close_intervals([edge for edge in self._open_by_edge if edge not in lineage], time_us)
            own = [candidate for candidate in fresh if candidate.execution in self._counting_executions - begun]
            self._extend_intervals(
                [*own, *(candidate for execution in sorted(begun) for candidate in self._candidates[execution])],
                time_us,
            )

    @property
    def _counting_executions(self) -> set[str]:
        """The executions that count: the current one (rule 6.2) and the newest one (rule 6.4)."""
        return {self._current, self._latest} & self._candidates.keys()

    def _add_candidate(self, candidate: Candidate[Sequence[K]]) -> None:
        """Add a candidate and update the current and the newest execution (rules 6.2 to 6.4).

        An execution without column lineage does not replace an execution with column lineage. A declaration always
        replaces the previous declaration.
        """
        self._candidates.setdefault(candidate.execution, []).append(candidate)
        if self._observed and self._has_lineage and candidate.weight == NO_SOURCES:
            return
        if not self._has_lineage and candidate.weight > NO_SOURCES:
            self._has_lineage, self._latest_rank, self._current_rank = True, None, None
        order = candidate_order_key(candidate)
        if self._latest_rank is None or order >= self._latest_rank:  # a backfill of an older period is never the newest
            self._latest, self._latest_rank = candidate.execution, order
        rank = (candidate.weight if candidate.has_column_lineage and self._observed else NO_SOURCES, order)
        if self._current_rank is None or rank >= self._current_rank:
            self._current, self._current_rank = candidate.execution, rank

    def _close_intervals(self, edges: Iterable[K], time_us: int) -> None:
        for edge in edges:
            self.ended.append(self._open_by_edge.pop(edge)._replace(until_us=time_us))

    def _extend_intervals(self, candidates: Iterable[Candidate[Sequence[K]]], time_us: int) -> None:
        for candidate in candidates:
            for edge in candidate.lineage:
                known = self._open_by_edge.get(edge) or ValidityInterval(
                    edge, time_us, None, candidate.time_us, 0, False
                )
                self._open_by_edge[edge] = known._replace(
                    last_seen_us=max(known.last_seen_us, candidate.time_us),
                    runs=known.runs + 1,
                    rows_confirmed=known.rows_confirmed or candidate.rows_confirmed,
                )


def _time_order(candidate: Candidate[Any]) -> tuple[int, str]:
    return candidate.time_us, candidate.tie
