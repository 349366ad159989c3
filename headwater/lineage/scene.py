"""All that questions need at one moment: the graph, what of it counts, columns and tags."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from headwater.lineage.contents import Contents
from headwater.lineage.current import Group, Vote
from headwater.lineage.derive import Derivation
from headwater.lineage.edges import Contribution, others_read
from headwater.lineage.exposed_until import Writer, Written, Wrote
from headwater.lineage.graph import Graph
from headwater.lineage.kin import KinInMemory
from headwater.lineage.lifetimes import Lifetimes
from headwater.lineage.memory import MemoryStore
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.nesting import Nesting
from headwater.lineage.outcome import Word, outcome
from headwater.lineage.part import Part
from headwater.lineage.view import View

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
        self.naming = self.derivation.naming
        self.graph = Graph()
        self._masks = (bytearray(), bytearray(), bytearray())
        self.ever_read: set[Name] = set()
        kin = KinInMemory(self.store.runs.values(), self.store.votes)
        for votes in by_output(self.store.votes).values():
            for group, words in outcome(votes, lambda said: said, kin).items():
                for word in words:
                    self._add(group, word)
            self.ever_read.update(name.plain for vote in _all(votes) for name in others_read(vote.said))

    @property
    def dropped(self) -> set[Name]:
        """The datasets that are gone now."""
        generations = self.naming.generations
        return {each.plain for each in generations.touched() if not generations.is_there(each)}

    def view(self) -> View:
        """Return what counts now."""
        lifetimes = Lifetimes(self.graph, self.naming.generations)
        names = self.graph.names
        nested = [number for number, name in enumerate(names) if self.schemas.columns(name).nests]
        nesting = Nesting(self.graph, lambda number: self.schemas.columns(names[number]), nested)
        live, latest, reading = (bytearray(mask) for mask in self._masks)
        return View(live, latest, reading, lifetimes.hidden, lifetimes, nesting)

    def put_history(self) -> None:
        """Add the edge sets that count no more; only `View.everything` shows them."""
        known = {(group, said) for (group, _), said in zip(self.graph.sets.values(), self._said, strict=True)}
        for group, votes in self.store.votes.items():
            for said in {vote.said for vote in votes.values()}:
                if (group, said) not in known:
                    self._add(group, Word(said, False, False, False, frozenset(), frozenset()))

    def written(self, dataset: Name) -> Written:
        """Return who ever wrote a generation of a dataset."""
        of_it = [
            (group, vote) for group, own in self.store.votes.items() if group.output == dataset for vote in own.values()
        ]
        rewrites = sorted((vote.time_us, vote.run_key) for _, vote in of_it if vote.rewrites)

        def wrote(vote: Vote[Contribution], upto_us: int) -> Wrote | None:
            return (vote.time_us, vote.run_key) if vote.time_us <= upto_us else None

        def rewritten(by: Wrote) -> int | None:
            return next((at for at, run_key in rewrites if at >= by[0] and run_key != by[1]), None)

        return Written(
            [Writer(self._remask(group, vote.said), partial(wrote, vote)) for group, vote in of_it], rewritten
        )

    def votes_of(self, number: int) -> list[Vote[Contribution]]:
        """Return the votes behind an edge set."""
        votes = self.store.votes[self.graph.sets[number][0]].values()
        return [vote for vote in votes if vote.said == self._said[number]]

    def _add(self, group: Group, word: Word[Contribution]) -> None:
        said = self._remask(group, word.said)
        self.graph.put(len(self._said), group, said, word.explained, word.accounted)
        self._said.append(word.said)
        for mask, counts in zip(self._masks, (word.live, word.latest, word.reading), strict=True):
            mask.append(counts)


def by_output(
    votes: Mapping[Group, Mapping[str, Vote[Contribution]]],
) -> dict[Name | None, dict[Group, list[Vote[Contribution]]]]:
    """Sort votes by the dataset they are about, its generations together."""
    found: dict[Name | None, dict[Group, list[Vote[Contribution]]]] = {}
    for group, by_run in votes.items():
        if by_run:
            found.setdefault(group.output and group.output.plain, {})[group] = list(by_run.values())
    return found


def _all(votes: Mapping[Group, Sequence[Vote[Contribution]]]) -> Iterable[Vote[Contribution]]:
    return (vote for own in votes.values() for vote in own)
