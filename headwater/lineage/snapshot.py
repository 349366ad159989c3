"""What is known at one moment: the graph, what of it counts, which datasets there are, which columns they have."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from headwater.lineage.columns import NO_COLUMNS, Columns
from headwater.lineage.current import Group
from headwater.lineage.edges import Contribution
from headwater.lineage.exposed_until import Written
from headwater.lineage.generations import EVER_US
from headwater.lineage.graph import Graph
from headwater.lineage.lifetimes import Lifetimes
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.nesting import Nesting
from headwater.lineage.outcome import Word
from headwater.lineage.part import Tag
from headwater.lineage.view import View

Remask = Callable[[Group, Contribution], Contribution]
"""What a masking file makes of an edge set."""


def as_said(_: Group, said: Contribution) -> Contribution:
    """Leave every step as its producer says."""
    return said


class Stats(NamedTuple):
    """What is known of the runs behind an edge set; times of runs in microseconds, UTC."""

    runs: int
    first_us: int
    last_us: int
    landed: bool


class Snapshot(ABC):
    """All that questions ask. What it is made of differs (parts, an index, Spark's rows), what follows does not."""

    def __init__(self, naming: Naming, remask: Remask):
        """Hold no edge yet; `naming` knows what names mean at that moment."""
        self.graph = Graph()
        self.naming = naming
        self._remask = remask
        self._masks = (bytearray(), bytearray(), bytearray())
        self._view: View | None = None

    # What follows

    def view(self) -> View:
        """Return what counts."""
        if self._view is None:
            graph = self.graph
            lifetimes = Lifetimes(graph, self.naming.generations)
            nested = [number for name in self.nesting() if (number := graph.dataset(name)) is not None]
            nesting = Nesting(graph, lambda number: self.columns(graph.names[number]), nested)
            self._view = View(*self._masks, lifetimes.hidden, lifetimes, nesting)
        return self._view

    def shown_columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset by its newest generation that says so."""
        every = self.naming.generations.meanings(dataset.plain)
        return next((columns for each in every if (columns := self.columns(each)).names), NO_COLUMNS)

    def resolve(self, name: Name) -> Name:
        """Return the dataset that a canonical name means in the end, whatever its generation."""
        return self.naming.resolve(name, EVER_US).plain

    def aliases(self) -> Mapping[Name, Name]:
        """Return the names that are bound to another or were renamed, with the datasets they mean."""
        return {name: self.resolve(name) for name in self.naming.aliases()}

    def stands(self, dataset: Name) -> bool:
        """Tell whether a dataset is there: it was not dropped, or was made again."""
        return self.naming.generations.is_there(dataset)

    def knows(self, dataset: Name) -> bool:
        """Tell whether a schema or an edge is known of a dataset."""
        return self.graph.mentions(dataset) or bool(self.shown_columns(dataset).names)

    def datasets(self) -> Iterable[Name]:
        """Return every dataset that a schema or an edge is known of, be it under a name from before a rename."""
        shown = names_shown({*self.described()}, self.naming)
        return shown.union(name for name in self.graph.generations.keys() - shown if self.graph.mentions(name))

    def nesting(self) -> Iterable[Name]:
        """Return the datasets with columns that are nested in others by their newest schema."""
        return (dataset for dataset in self.described() if self.columns(dataset).nests)

    def _put(self, number: int, group: Group, word: Word[Contribution]) -> None:
        """Add an edge set under a number that the graph has not."""
        self.graph.put(number, group, self._remask(group, word.said), word.explained, word.accounted)
        self._count(number, word.live, word.latest, word.reading)

    def _count(self, number: int, *counts: int) -> None:
        for mask, count in zip(self._masks, counts, strict=True):
            mask.extend(bytes(max(0, number + 1 - len(mask))))
            mask[number] = count
        self._view = None

    # What it is made of

    @abstractmethod
    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""

    @abstractmethod
    def described(self) -> Iterable[Name]:
        """Return the datasets, each in its generation, of which a schema is known."""

    @abstractmethod
    def tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags that hold, by dataset."""

    @abstractmethod
    def was_read(self, dataset: Name) -> bool:
        """Tell whether some run, be it long ago, read a dataset to write another."""

    @abstractmethod
    def job(self, key: Name) -> Name:
        """Return what people call a job: where it is known by an artifact's id, the name it has at that moment."""

    @abstractmethod
    def stats(self, number: int) -> Stats:
        """Return what is known of the runs behind an edge set."""

    @abstractmethod
    def newest_run(self, number: int) -> str | None:
        """Return the newest run behind an edge set."""

    @abstractmethod
    def older_than(self, time_us: int) -> Iterator[int]:
        """Yield the edge sets whose newest run is older than a time."""

    @abstractmethod
    def written(self, dataset: Name) -> Written:
        """Return who ever wrote a generation of a dataset."""


def names_shown(described: Set[Name], naming: Naming) -> set[Name]:
    """Return the names under which datasets with a schema are shown: their own, and those from before a rename."""
    generations = naming.generations
    renamed = (name for name in generations.renamed if not described.isdisjoint(generations.meanings(name)))
    return {*(each.plain for each in described), *renamed}
