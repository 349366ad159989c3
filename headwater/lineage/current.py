"""Rule 6: which of the runs that write a dataset say what feeds it now."""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.part import Name

T = TypeVar("T")


class Group(NamedTuple):
    """A job and one dataset that it writes; `layer` keeps what is declared apart from what was observed."""

    layer: str
    job: Name
    output: Name | None


class Vote(NamedTuple, Generic[T]):
    """One run's word in a group.

    landed: rows are known to have been written; drops: the run ended the dataset; said: stands for its edges.
    """

    time_us: int
    run_key: str
    execution: str
    carries: bool
    landed: bool
    drops: bool
    said: T


def current(votes: Sequence[Vote[T]]) -> list[Vote[T]]:
    """Return the votes that count: of the newest execution among those with column lineage, else of the newest."""
    return _of_newest([vote for vote in votes if vote.carries] or votes, votes)


def latest(votes: Sequence[Vote[T]]) -> list[Vote[T]]:
    """Return the votes of the newest execution, whatever it carries: who reads now (rule 9)."""
    return _of_newest(votes, votes)


def _of_newest(pool: Iterable[Vote[T]], votes: Sequence[Vote[T]]) -> list[Vote[T]]:
    newest = max(pool, key=_newness, default=None)
    return [vote for vote in votes if newest and vote.execution == newest.execution]


def _newness(vote: Vote[T]) -> tuple[int, str]:
    return vote.time_us, vote.run_key
