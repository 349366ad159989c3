"""All that questions need at one moment: the graph, what of it counts, columns and tags."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from headwater.lineage.contents import Contents
from headwater.lineage.current import Group, Vote
from headwater.lineage.derive import Derivation
from headwater.lineage.edges import Contribution, others_read
from headwater.lineage.graph import Graph
from headwater.lineage.memory import MemoryStore
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.outcome import Word, is_dropped, outcome
from headwater.lineage.part import Part
from headwater.lineage.walk import View

Remask = Callable[[Group, Contribution], Contribution]
"""What a masking file makes of an edge set."""


def as_said(_: Group, said: Contribution) -> Contribution:
    """Leave every step as its producer says."""
    return said


class Scene:
    """A graph built in one go from parts: of the past, of a file, of a test."""

    def __init__(self, parts: Sequence[Part], contents: Contents, remask: Remask = as_said):
        """Derive everything; `contents` holds what the parts refer to."""
        self._remask = remask
        self._said: list[Contribution] = []
        self.store = MemoryStore()
        self.derivation = Derivation(self.store, contents, Naming())
        self.derivation.add(parts)
        self.schemas = self.derivation.schemas
        self.graph = Graph()
        self._live: list[bool] = []
        self._latest: list[bool] = []
        self.ever_read: set[Name] = set()
        for votes in by_output(self.store.votes).values():
            self._put(votes)
            self.ever_read.update(name for vote in _all(votes) for name in others_read(vote.said))
        self.dropped = frozenset(
            name for name, votes in by_output(self.store.votes).items() if name and is_dropped(_all(votes))
        )

    def view(self) -> View:
        """Return what counts now."""
        hidden = frozenset(number for name in self.dropped if (number := self.graph.dataset(name)) is not None)
        return View(bytearray(self._live), bytearray(self._latest), hidden)

    def put_history(self) -> None:
        """Add the edge sets that count no more; only `View.everything` shows them."""
        known = {(group, said) for (group, _), said in zip(self.graph.sets.values(), self._said, strict=True)}
        for group, votes in self.store.votes.items():
            for said in {vote.said for vote in votes.values()}:
                if (group, said) not in known:
                    self._add(group, Word(said, False, False, frozenset()))

    def votes_of(self, number: int) -> list[Vote[Contribution]]:
        """Return the votes behind an edge set."""
        votes = self.store.votes[self.graph.sets[number][0]].values()
        return [vote for vote in votes if vote.said == self._said[number]]

    def _put(self, votes: Mapping[Group, Sequence[Vote[Contribution]]]) -> None:
        for group, words in outcome(votes, lambda said: said.named).items():
            for word in words:
                self._add(group, word)

    def _add(self, group: Group, word: Word[Contribution]) -> None:
        self.graph.put(len(self._said), group, self._remask(group, word.said), word.explained)
        self._said.append(word.said)
        self._live.append(word.live)
        self._latest.append(word.latest)


def by_output(
    votes: Mapping[Group, Mapping[str, Vote[Contribution]]],
) -> dict[Name | None, dict[Group, list[Vote[Contribution]]]]:
    """Sort votes by the dataset they are about."""
    found: dict[Name | None, dict[Group, list[Vote[Contribution]]]] = {}
    for group, by_run in votes.items():
        if by_run:
            found.setdefault(group.output, {})[group] = list(by_run.values())
    return found


def _all(votes: Mapping[Group, Sequence[Vote[Contribution]]]) -> Iterable[Vote[Contribution]]:
    return (vote for own in votes.values() for vote in own)
