"""Rule 6: which of the runs that write a dataset say what feeds it now."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.name import Name

T = TypeVar("T")


class Group(NamedTuple):
    """A job and one dataset that it writes; `layer` keeps what is declared apart from what was observed."""

    layer: str
    job: Name
    output: Name | None


class Vote(NamedTuple, Generic[T]):
    """One run's word in a group; of two at one instant the greater `tie` is newer.

    started_us, last_us: of the run's first and last event.
    weight: CARRIES column lineage, is OPAQUE about inputs, or SILENT, as an ALTER is.
    landed: rows are known to have been written. rewrites: it is COMPLETE and replaced all rows there were.
    said: stands for its edges.
    """

    time_us: int
    tie: str
    run_key: str
    execution: str
    started_us: int
    last_us: int
    weight: int
    landed: bool
    rewrites: bool
    said: T

    @property
    def carries(self) -> bool:
        """Whether it has column lineage."""
        return self.weight == CARRIES


SILENT, OPAQUE, CARRIES = 0, 1, 2


class Standing(NamedTuple, Generic[T]):
    """What a group says: by the votes that count, and by its newest execution whatever that carries."""

    live: list[Vote[T]]
    latest: list[Vote[T]]


def standing(group: Group, votes: Sequence[Vote[T]]) -> Standing[T]:
    """Count votes: those of the newest execution among the ones with column lineage, else of the newest.

    A declaration replaces the one before, whatever either carries.
    """
    if group.layer != "observed":
        newest = _of_newest(votes, votes)
        return Standing(newest, newest)
    saying = [vote for vote in votes if vote.weight > SILENT] or votes
    carrying = [vote for vote in saying if vote.carries]
    return Standing(_of_newest(carrying or saying, saying), _of_newest(saying, saying))


def _of_newest(pool: Iterable[Vote[T]], votes: Sequence[Vote[T]]) -> list[Vote[T]]:
    newest = max(pool, key=newness, default=None)
    return [vote for vote in votes if newest and vote.execution == newest.execution]


VOTE_ORDER = ("time_us", "tie")
"""What orders the votes of a group, in tables, too; the greatest is the newest."""

newness = attrgetter(*VOTE_ORDER)
