"""Since when and until when an edge counted: the votes of one group, one moment after the other."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.current import SILENT, Vote, newness

K = TypeVar("K")


class Spell(NamedTuple, Generic[K]):
    """A time in which an edge counted without a break: from `since_us` on, up to but not at `until_us`.

    until_us: None while it counts; runs: how many said so in that time; landed: one of them is known to have written.
    """

    edge: K
    since_us: int
    until_us: int | None
    last_seen_us: int
    runs: int
    landed: bool


class History(Generic[K]):
    """The edges of one job and one output in time, by votes from old to new; see `current.standing`.

    A run counts from its own time on with what is known of it today.
    """

    def __init__(
        self,
        layer: str,
        votes: Iterable[Vote[Sequence[K]]] = (),
        spells: Iterable[Spell[K]] = (),
        *,
        newest: bool = False,
    ):
        """Go on behind `votes`, at least those that count and those of executions that go on; `spells` count then.

        newest: the newest execution counts beside the current one, whatever it carries.
        """
        self.ended: list[Spell[K]] = []
        self._observed = layer == "observed"
        self._said = self._carried = False
        self._current = self._latest = ""
        self._newest = newest
        self._votes: dict[str, list[Vote[Sequence[K]]]] = {}
        self._open = {spell.edge: spell for spell in spells}
        for vote in sorted(votes, key=newness):
            self._turn_to(vote)

    @property
    def standing(self) -> list[Spell[K]]:
        """The spells that count after all votes."""
        return list(self._open.values())

    def add(self, votes: Iterable[Vote[Sequence[K]]]) -> None:
        """Take votes of later times than all before; `said` of one vote names an edge once."""
        for time_us, same_time in groupby(sorted(votes, key=newness), key=lambda vote: vote.time_us):
            before = self._counting
            fresh = list(same_time)
            for vote in fresh:
                self._turn_to(vote)
            begun = self._counting - before
            if self._counting != before:
                said = {edge for execution in self._counting for vote in self._votes[execution] for edge in vote.said}
                self._close([edge for edge in self._open if edge not in said], time_us)
            own = [vote for vote in fresh if vote.execution in self._counting - begun]
            self._say([*own, *(vote for execution in sorted(begun) for vote in self._votes[execution])], time_us)

    @property
    def _counting(self) -> set[str]:
        """The executions that count."""
        both = {self._current, self._latest} if self._newest else {self._current}
        return both & self._votes.keys()

    def _turn_to(self, vote: Vote[Sequence[K]]) -> None:
        """Rule 6: an execution without column lineage replaces none that has it; a declaration always."""
        self._votes.setdefault(vote.execution, []).append(vote)
        if self._observed and self._said and vote.weight == SILENT:
            return
        self._said = self._said or vote.weight > SILENT
        self._latest = vote.execution
        if vote.carries or not self._observed or not self._carried:
            self._current = vote.execution
        self._carried = self._carried or (vote.carries and self._observed)

    def _close(self, edges: Iterable[K], time_us: int) -> None:
        for edge in edges:
            self.ended.append(self._open.pop(edge)._replace(until_us=time_us))

    def _say(self, votes: Iterable[Vote[Sequence[K]]], time_us: int) -> None:
        for vote in votes:
            for edge in vote.said:
                known = self._open.get(edge) or Spell(edge, time_us, None, vote.time_us, 0, False)
                self._open[edge] = known._replace(
                    last_seen_us=max(known.last_seen_us, vote.time_us),
                    runs=known.runs + 1,
                    landed=known.landed or vote.landed,
                )
