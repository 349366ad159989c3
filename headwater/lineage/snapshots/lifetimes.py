"""Rule 10 in a graph: find dropped datasets and the generations of the same name."""

from collections.abc import Sequence, Set

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.traversal.column_graph import Graph


class Lifetimes:
    """The generations of the datasets in a graph, as known when the object is created.

    dropped_datasets: the numbers of datasets that were dropped, replaced, or never written (rule 10.9).
    has_moves: whether at least one name has referred to several locations.
    """

    def __init__(self, graph: Graph, naming: NameResolver):
        self._graph = graph
        self._naming = naming
        self._generations = generations = naming.generations
        self.has_moves = naming.moved_names.has_moves
        self._other_generations: dict[int, Sequence[int]] = {}
        self._next_moves: dict[tuple[int, bool], Sequence[int]] = {}
        self._moved_datasets: dict[tuple[int, bool], Sequence[int]] = {}
        self.dropped_datasets = frozenset(
            number
            for location in generations.changed_locations()
            for number in graph.generations.get(location, ())
            if not generations.exists(graph.names[number])
        )

    @property
    def attempted(self) -> Set[int]:
        """The edge sets of all runs that did not complete, including edge sets that do not count."""
        return self._graph.attempted

    def all_generations(self, dataset: Name) -> list[int]:
        """Return the numbers of all generations of a dataset that an edge set mentions, the newest first.

        Generations at other locations of the dataset's names follow at the end.
        """
        graph, every = self._graph, dict[int, None]()
        for location in (dataset, *self._naming.moved_names.other_current_locations(dataset.without_generation)):
            meanings = self._generations.all_generations(location)
            every |= dict.fromkeys(number for each in meanings if (number := graph.dataset_number(each)) is not None)
            every |= dict.fromkeys(reversed(graph.generations.get(location.without_generation, ())))
        return [number for number in every if graph.is_used(number)]

    def own_generations(self, dataset: Name) -> list[int]:
        """Return the generations of a dataset that an edge set mentions, excluding other locations of its names."""
        return [
            number
            for number in self.all_generations(dataset)
            if self._graph.names[number].without_generation == dataset
        ]

    def newest_generation(self, dataset: Name) -> int | None:
        """Return the newest generation of a name that lived, or the newest generation if none lived.

        Returns None if no edge set mentions a generation of the name.
        """
        return next(iter(self.start_generations(dataset)), None)

    def newest_with_lineage(self, dataset: Name) -> int | None:
        """Return the newest generation of a name that lived and that a completed run mentions.

        If there is no such generation, the result is the same as for `newest_generation`.
        """
        return next(reversed(self.start_generations(dataset)), None)

    def start_generations(self, dataset: Name) -> Sequence[int]:
        """Return the generations at which impact and upstream of a name begin, the newest first (rule 7.3).

        There are two such generations if only runs that did not complete mention the newest generation.
        """
        found = self.all_generations(dataset)
        lived = (number for number in found if self._generations.has_lived(self._graph.names[number]))
        newest = next(lived, None)
        if newest is None or self._graph.has_lineage(newest):
            return found[:1] if newest is None else (newest,)
        with_lineage = next((number for number in lived if self._graph.has_lineage(number)), None)
        return (newest,) if with_lineage is None else (newest, with_lineage)

    def existing_generation(self, dataset: Name) -> int | None:
        """Return the newest generation of a name, None if it is dropped or no edge set mentions it."""
        number = self._graph.dataset_number(self._generations.newest_generation(dataset))
        return number if number is not None and self._exists(number) else None

    def _exists(self, number: int) -> bool:
        return number not in self.dropped_datasets and self._graph.is_used(number)

    def other_generations(self, number: int) -> Sequence[int]:
        """Return the other generations of the names of a dataset.

        The result is empty if the dataset is dropped, or if its name has always referred to the same generation.
        """
        found = self._other_generations.get(number)
        if found is None:
            name = self._graph.names[number].without_generation
            is_alone = not (self._generations.has_changes(name) or self._naming.moved_names.has_moved_names(name))
            gone = number in self.dropped_datasets
            found = () if gone or is_alone else [each for each in self.all_generations(name) if each != number]
            self._other_generations[number] = found
        return found

    def moved_datasets(self, number: int, *, forward: bool) -> Sequence[int]:
        """Return the datasets to which the names of a dataset moved, over any number of moves (rule 10.11).

        forward: True for the datasets after the moves, False for the datasets from which the names came.
        """
        if not self.has_moves or number < 0:
            return ()
        found = self._moved_datasets.get((number, forward))
        if found is None:
            every, todo = {number: None}, [number]
            while todo:
                fresh = [each for each in self._next_datasets(todo.pop(), forward=forward) if each not in every]
                every |= dict.fromkeys(fresh)
                todo.extend(fresh)
            found = self._moved_datasets[number, forward] = list(every)[1:]
        return found

    def _next_datasets(self, number: int, *, forward: bool) -> Sequence[int]:
        found = self._next_moves.get((number, forward))
        if found is None:
            names = self._naming.moved_names.moved_generations(self._graph.names[number], forward=forward)
            every = dict.fromkeys(each for name in names if (each := self._graph.dataset_number(name)) is not None)
            found = self._next_moves[number, forward] = [each for each in every if self._graph.is_used(each)]
        return found
