"""Rule 10 in a graph: which datasets are gone, and which are generations of one name."""

from collections.abc import Sequence, Set

from headwater.lineage.names.dataset_generations import Generations
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.walks.column_graph import Graph


class Lifetimes:
    """The generations of a graph's datasets, as they are known when it is made."""

    def __init__(self, graph: Graph, generations: Generations):
        """Find what is gone. hidden: datasets that ended, and those that never lived."""
        self._graph = graph
        self._generations = generations
        self.hidden = frozenset(
            number
            for location in generations.touched()
            for number in graph.generations.get(location, ())
            if not generations.stands(graph.names[number])
        )

    @property
    def attempted(self) -> Set[int]:
        """The edge sets of runs that did not complete, whether they count or not."""
        return self._graph.attempted

    def of(self, dataset: Name) -> list[int]:
        """Return all generations of a name that edges mention, the newest first."""
        graph = self._graph
        known = [number for each in self._generations.meanings(dataset) if (number := graph.dataset(each)) is not None]
        every = dict.fromkeys([*known, *reversed(graph.generations.get(dataset.plain, ()))])
        return [number for number in every if graph.is_used(number)]

    def generations(self, dataset: Name) -> list[int]:
        """Return the generations of a dataset that edges mention, whatever else its name has meant."""
        return [number for number in self.of(dataset) if self._graph.names[number].plain == dataset]

    def newest(self, dataset: Name) -> int | None:
        """Return the newest generation of a name that lived."""
        found = self.of(dataset)
        lived = (number for number in found if self._generations.lived(self._graph.names[number]))
        return next(lived, next(iter(found), None))

    def standing(self, dataset: Name) -> int | None:
        """Return the newest generation of a name, None if no edge mentions it or it never lived."""
        number = self._graph.dataset(self._generations.newest(dataset))
        return number if number is not None and self._stands(number) else None

    def _stands(self, number: int) -> bool:
        return number not in self.hidden and self._graph.is_used(number)

    def others(self, number: int) -> Sequence[int]:
        """Return the other generations of the name of a dataset that is not gone; none where nothing was dropped."""
        name = self._graph.names[number]
        if number in self.hidden or not self._generations.touches(name.plain):
            return ()
        return [each for each in self.of(name.plain) if each != number]
