"""Since when and until when an edge counted: the candidates of one job output, one moment after the other."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

from headwater.lineage.edges.current_candidates import SILENT, Candidate, newness

K = TypeVar("K")


class ValidityInterval(NamedTuple, Generic[K]):
    """A time in which an edge counted without a break: from `since_us` on, up to but not at `until_us`.

    until_us: None while it counts; runs: how many said so in that time; rows_confirmed: one of them surely wrote.
    """

    edge: K
    since_us: int
    until_us: int | None
    last_seen_us: int
    runs: int
    rows_confirmed: bool


class ValidityHistory(Generic[K]):
    """The edges of one job and one output in time, by candidates from old to new; see `current_candidates.standing`.

    A run counts from its own time on with what is known of it today.
    """

    def __init__(
        self,
        layer: str,
        candidates: Iterable[Candidate[Sequence[K]]] = (),
        intervals: Iterable[ValidityInterval[K]] = (),
    ):
        """Go on behind `candidates`, at least those that count and those of executions that go on.

        intervals: what counts then.
        """
        self.ended: list[ValidityInterval[K]] = []
        self._observed = layer == "observed"
        self._lineage = False
        self._current = self._latest = ""
        self._current_rank: tuple[int, Any] | None = None
        self._latest_rank: Any = None
        self._candidates: dict[str, list[Candidate[Sequence[K]]]] = {}
        self._open = {interval.edge: interval for interval in intervals}
        for candidate in sorted(candidates, key=_in_time):
            self._turn_to(candidate)

    @property
    def standing(self) -> list[ValidityInterval[K]]:
        """The intervals that count after all candidates."""
        return list(self._open.values())

    def add(self, candidates: Iterable[Candidate[Sequence[K]]]) -> None:
        """Take candidates of later times than all before; `lineage` of one candidate names an edge once."""
        for time_us, same_time in groupby(sorted(candidates, key=_in_time), key=lambda candidate: candidate.time_us):
            before = self._counting
            fresh = list(same_time)
            for candidate in fresh:
                self._turn_to(candidate)
            begun = self._counting - before
            if self._counting != before:
                lineage = {
                    edge
                    for execution in self._counting
                    for candidate in self._candidates[execution]
                    for edge in candidate.lineage
                }
                self._close([edge for edge in self._open if edge not in lineage], time_us)
            own = [candidate for candidate in fresh if candidate.execution in self._counting - begun]
            self._say(
                [*own, *(candidate for execution in sorted(begun) for candidate in self._candidates[execution])],
                time_us,
            )

    @property
    def _counting(self) -> set[str]:
        """The executions that count: the current one, and the newest, whatever that carries."""
        return {self._current, self._latest} & self._candidates.keys()

    def _turn_to(self, candidate: Candidate[Sequence[K]]) -> None:
        """Rule 6: an execution without column lineage replaces none that has it; a declaration always."""
        self._candidates.setdefault(candidate.execution, []).append(candidate)
        if self._observed and self._lineage and candidate.weight == SILENT:
            return
        if not self._lineage and candidate.weight > SILENT:
            self._lineage, self._latest_rank, self._current_rank = True, None, None
        order = newness(candidate)
        if self._latest_rank is None or order >= self._latest_rank:  # one of an older period is never the newest
            self._latest, self._latest_rank = candidate.execution, order
        rank = (candidate.weight if candidate.carries and self._observed else SILENT, order)
        if self._current_rank is None or rank >= self._current_rank:
            self._current, self._current_rank = candidate.execution, rank

    def _close(self, edges: Iterable[K], time_us: int) -> None:
        for edge in edges:
            self.ended.append(self._open.pop(edge)._replace(until_us=time_us))

    def _say(self, candidates: Iterable[Candidate[Sequence[K]]], time_us: int) -> None:
        for candidate in candidates:
            for edge in candidate.lineage:
                known = self._open.get(edge) or ValidityInterval(edge, time_us, None, candidate.time_us, 0, False)
                self._open[edge] = known._replace(
                    last_seen_us=max(known.last_seen_us, candidate.time_us),
                    runs=known.runs + 1,
                    rows_confirmed=known.rows_confirmed or candidate.rows_confirmed,
                )


def _in_time(candidate: Candidate[Any]) -> tuple[int, str]:
    return candidate.time_us, candidate.tie
