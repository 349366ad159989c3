"""What all jobs together say about one dataset they write: which words count, and what explains the opaque ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.current import Group, Vote, newness, standing
from headwater.lineage.name import Name

T = TypeVar("T")

Votes = Mapping[Group, Sequence[Vote[T]]]

Named = Callable[[T], Iterable[Name]]
"""What is said → the datasets that its column lineage names."""


class Word(NamedTuple, Generic[T]):
    """One edge set of one group, and how it counts.

    explained: inputs of an opaque one that a sibling of its execution names for the same output.
    """

    said: T
    live: bool
    latest: bool
    explained: frozenset[Name]


def outcome(votes: Votes[T], named: Named[T]) -> dict[Group, list[Word[T]]]:
    """Return the words that count of all groups of one output."""
    return {group: _words(group, own, votes, named) for group, own in votes.items()}


def _words(group: Group, own: Sequence[Vote[T]], votes: Votes[T], named: Named[T]) -> list[Word[T]]:
    counted = standing(group, own)
    live, latest = ({vote.run_key for vote in part} for part in counted)
    words: dict[T, Word[T]] = {}
    for vote in {vote.run_key: vote for vote in (*counted.live, *counted.latest)}.values():
        explained = _explained(vote, votes, named)
        before = words.get(vote.said) or Word(vote.said, False, False, explained)
        words[vote.said] = Word(
            vote.said,
            before.live or vote.run_key in live,
            before.latest or vote.run_key in latest,
            before.explained & explained,
        )
    return list(words.values())


def _explained(vote: Vote[T], votes: Votes[T], named: Named[T]) -> frozenset[Name]:
    """Return what other runs of the same execution name: CREATE TABLE AS SELECT is two runs, one with the columns."""
    if vote.carries:
        return frozenset()
    siblings = (other for own in votes.values() for other in own if other.execution == vote.execution)
    return frozenset(name for other in siblings if other.carries for name in named(other.said))


def that_matter(votes: Votes[T]) -> Iterator[tuple[Group, str]]:
    """Yield (group, run key) of the votes that `outcome` and `is_dropped` need: all others make no difference."""
    silent: set[str] = set()
    for group, own in votes.items():
        for vote in {vote.run_key: vote for part in standing(group, own) for vote in part}.values():
            yield group, vote.run_key
            if not vote.carries:
                silent.add(vote.execution)
    for group, own in votes.items():
        yield from ((group, vote.run_key) for vote in own if vote.carries and vote.execution in silent)
    ended = [(group, vote) for group, own in votes.items() for vote in own if vote.ended]
    if ended:
        group, vote = max(ended, key=_newest_end)
        yield group, vote.run_key


def is_dropped(votes: Iterable[Vote[T]]) -> bool:
    """Rule 10: a dataset is gone while its newest COMPLETE run says DROP; at one instant the write wins."""
    ended = (vote for vote in votes if vote.ended)
    newest = max(ended, key=_lifetime, default=None)
    return bool(newest and newest.drops)


def _newest_end(each: tuple[Group, Vote[T]]) -> tuple[object, ...]:
    """Order what ended; of equals always the same one, whichever others are looked at beside it."""
    group, vote = each
    return (*_lifetime(vote), *newness(vote), vote.run_key, group.layer, group.job)


def _lifetime(vote: Vote[T]) -> tuple[int, bool]:
    return vote.time_us, not vote.drops
