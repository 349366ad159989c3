"""What all jobs together say about one dataset they write: which words count, and what explains the opaque ones."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from headwater.lineage.current import Group, Vote, standing
from headwater.lineage.edges import Contribution
from headwater.lineage.name import Name

T = TypeVar("T")

Votes = Mapping[Group, Sequence[Vote[T]]]
"""The votes about one dataset, in all its generations."""

Names = frozenset[Name]


class Word(NamedTuple, Generic[T]):
    """One edge set of one group, and how it counts.

    live: it is current in its generation; latest: the newest there. reading: either, over all generations together.
    explained: opaque inputs of which other runs say what is read; accounted: and, too, what the output is made of.
    """

    said: T
    live: bool
    latest: bool
    reading: bool
    explained: Names
    accounted: Names


class Reported(NamedTuple):
    """Which datasets runs report columns of, and for which they carry column lineage."""

    covered: Names
    carried: Names


class Kin(Protocol):
    """What other runs say; a run is below another if a chain of parents leads up to it."""

    def below(self, run_key: str) -> Reported:
        """Return what the runs below a run report."""

    def beside(self, execution: str) -> Reported:
        """Return what the runs of an execution report."""


ContentOf = Callable[[T], Contribution]


def outcome(votes: Votes[T], content_of: ContentOf[T], kin: Kin) -> dict[Group, list[Word[T]]]:
    """Return the words that count of all groups of one output."""
    reading = _reading(votes)
    return {group: _words(group, own, votes, _Explains(content_of, kin), reading) for group, own in votes.items()}


def _reading(votes: Votes[T]) -> set[tuple[Group, str]]:
    """Return (group, run) of the votes that count for a job and an output over all generations together."""
    together: dict[Group, list[Vote[T]]] = defaultdict(list)
    groups: dict[tuple[Group, str], list[Group]] = defaultdict(list)
    for group, own in votes.items():
        whole = group._replace(output=group.output and group.output.plain)
        together[whole] += own
        for vote in own:
            groups[whole, vote.run_key].append(group)
    return {
        (group, vote.run_key)
        for whole, every in together.items()
        for part in standing(whole, every)
        for vote in part
        for group in groups[whole, vote.run_key]
    }


def _words(
    group: Group, own: Sequence[Vote[T]], votes: Votes[T], explains: "_Explains[T]", reading: set[tuple[Group, str]]
) -> list[Word[T]]:
    counted = standing(group, own)
    live, latest = ({vote.run_key for vote in part} for part in counted)
    words: dict[T, Word[T]] = {}
    for vote in own:
        reads = (group, vote.run_key) in reading
        if not (reads or vote.run_key in live or vote.run_key in latest):
            continue
        explained, accounted = explains.of(group, vote, votes)
        before = words.get(vote.said) or Word(vote.said, False, False, False, explained, accounted)
        words[vote.said] = Word(
            vote.said,
            before.live or vote.run_key in live,
            before.latest or vote.run_key in latest,
            before.reading or reads,
            before.explained & explained,
            before.accounted & accounted,
        )
    return list(words.values())


class _Explains(Generic[T]):
    """Rule 4: what other runs say of the opaque inputs of a run."""

    def __init__(self, content_of: ContentOf[T], kin: Kin):
        self._content_of = content_of
        self._kin = kin

    def of(self, group: Group, vote: Vote[T], votes: Votes[T]) -> tuple[Names, Names]:
        """Return opaque inputs that are explained, and those for which the output is accounted for, too."""
        said = self._content_of(vote.said)
        if said.output is None and not said.opaque:
            return self._kin.beside(vote.execution).covered.intersection(said.tables), frozenset()
        if not said.opaque:
            return frozenset(), frozenset()
        halves = self._halves(group, vote, votes)
        below = self._kin.below(vote.run_key)
        explained = below.covered.intersection(said.opaque)
        made = said.output in below.carried
        return explained | halves, (explained if made else frozenset()) | halves

    def _halves(self, group: Group, vote: Vote[T], votes: Votes[T]) -> Names:
        """Return what the other half of a CREATE or REPLACE TABLE AS SELECT covers."""
        if not _is_statement(group):
            return frozenset()
        same = [(other, each) for other, own in votes.items() if other.output == group.output for each in own]
        beside = [(other, each) for other, each in same if each.execution == vote.execution]
        instants = sorted(each.last_us for other, each in beside if _is_statement(other) and _is_instant(each))
        return frozenset(
            name
            for other, each in beside
            if each.carries and each.run_key != vote.run_key and _is_half(vote, other, each, instants)
            for name in self._content_of(each.said).named
        )


_STATEMENT = re.compile(r"(?:^|\.)(?:atomic_)?(?:create|replace)\w*_table_as_select(?:_command|_exec)?(?:\.|$)")
_HALVES = ("append_data", "overwrite_by_expression", "overwrite_partitions")


def _is_statement(group: Group) -> bool:
    return _STATEMENT.search(group.job.name) is not None


def _is_instant(vote: Vote[T]) -> bool:
    return vote.started_us == vote.last_us


def _is_half(statement: Vote[T], group: Group, other: Vote[T], instants: Sequence[int]) -> bool:
    """Tell whether a run is the half of a statement that knows the columns: it ended while the statement ran.

    Of statements of one instant it is that of the next one, else of the last.
    """
    if not _is_instant(statement):
        return statement.started_us <= other.last_us <= statement.last_us
    if not any(part.startswith(_HALVES) for part in group.job.name.split(".")):
        return False
    return statement.last_us == next((at for at in instants if at >= other.last_us), instants[-1])


def that_matter(votes: Votes[T]) -> set[tuple[Group, str]]:
    """Return (group, run key) of the votes that `outcome` needs: all others make no difference.

    They are those that count, and of executions with an opaque one among them what may explain it, or is explained
    by the same: halves, and statements.
    """
    counting = (standing(group, own) for group, own in votes.items())
    found = _reading(votes) | {
        (group, vote.run_key)
        for group, counted in zip(votes, counting, strict=True)
        for part in counted
        for vote in part
    }
    every = [(group, vote) for group, own in votes.items() for vote in own]
    opaque = {vote.execution for group, vote in every if not vote.carries and (group, vote.run_key) in found}
    return found | {
        (group, vote.run_key)
        for group, vote in every
        if vote.execution in opaque and (vote.carries or _is_statement(group))
    }
