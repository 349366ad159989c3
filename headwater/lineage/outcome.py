"""What all jobs together say about one dataset they write: which words count, and what explains the opaque ones."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headwater.lineage.current import Group, Vote, standing
from headwater.lineage.edges import Contribution
from headwater.lineage.name import Name

Votes = Mapping[Group, Sequence[Vote[Contribution]]]


class Word(NamedTuple):
    """One edge set of one group, and how it counts."""

    said: Contribution
    live: bool
    latest: bool
    explained: frozenset[Name]


def outcome(votes: Votes) -> dict[Group, list[Word]]:
    """Return the words that count of all groups of one output."""
    return {group: _words(group, own, votes) for group, own in votes.items()}


def _words(group: Group, own: Sequence[Vote[Contribution]], votes: Votes) -> list[Word]:
    counted = standing(group, own)
    live, latest = ({vote.run_key for vote in part} for part in counted)
    words: dict[Contribution, Word] = {}
    for vote in {vote.run_key: vote for vote in (*counted.live, *counted.latest)}.values():
        explained = _explained(vote, votes)
        before = words.get(vote.said) or Word(vote.said, False, False, explained)
        words[vote.said] = Word(
            vote.said,
            before.live or vote.run_key in live,
            before.latest or vote.run_key in latest,
            before.explained & explained,
        )
    return list(words.values())


def _explained(vote: Vote[Contribution], votes: Votes) -> frozenset[Name]:
    """Return what other runs of the same execution name: CREATE TABLE AS SELECT is two runs, one with the columns."""
    if vote.carries:
        return frozenset()
    return frozenset(_named(vote.execution, votes))


def _named(execution: str, votes: Votes) -> Iterable[Name]:
    for others in votes.values():
        for other in others:
            if other.execution == execution and other.carries:
                yield from other.said.named


def that_matter(votes: Mapping[Group, Sequence[Vote[Any]]]) -> Iterator[tuple[Group, str]]:
    """Yield (group, run key) of the votes that `outcome` and `is_dropped` need; without all others they say the same."""
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
        group, vote = max(ended, key=lambda each: _lifetime(each[1]))
        yield group, vote.run_key


def is_dropped(votes: Iterable[Vote[Any]]) -> bool:
    """Rule 10: a dataset is gone while its newest COMPLETE run says DROP; at one instant the write wins."""
    ended = (vote for vote in votes if vote.ended)
    newest = max(ended, key=_lifetime, default=None)
    return bool(newest and newest.drops)


def _lifetime(vote: Vote[Any]) -> tuple[int, bool]:
    return vote.time_us, not vote.drops
