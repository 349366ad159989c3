"""Rule 12: what an edge between two columns says of the columns that are nested in them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from headwater.lineage.edges.schema_columns import Columns, parents
from headwater.lineage.walks.column_graph import Graph

ColumnsOf = Callable[[int], Columns]
"""Dataset number → the columns of its newest schema."""

SURE, MAY, CONTAINS = 0, 1, 2
"""How a step reaches a column: wholly; perhaps, names do not settle it; as what it lies in, and nothing else of it."""


class StepTarget(NamedTuple):
    """A column that a step reaches, and how (`SURE`, `MAY`, `CONTAINS`)."""

    node: int
    kind: int


class Nesting:
    """The columns of a graph that lie in each other, as they are known when it is made."""

    def __init__(self, graph: Graph, columns_of: ColumnsOf, by_schema: Iterable[int]):
        """by_schema: datasets with a newest schema that nests columns.

        active: datasets that may have nested columns, be it by what is asked; all others are left alone.
        columns_of: the columns of the newest schema of a dataset.
        """
        graph.nested.update(by_schema)
        self.active = graph.nested
        self._graph = graph
        self.columns_of = columns_of
        self._trees: dict[int, Mapping[str, Mapping[str, str]]] = {}

    def dataset_of(self, node: int) -> int:
        """Return the dataset of a column, below 0 for the meeting point of dataset-wide edges."""
        return self._graph.dataset_of[node]

    def lies_in(self, node: int) -> Iterator[tuple[int, str]]:
        """Yield (column, rest of the path) for each column of the graph that this one is nested in."""
        dataset, key = self._graph.columns[node]
        if key is None or "." not in key:
            return
        for parent in self.above(dataset, key):
            found = self._graph.node(dataset, parent)
            if found is not None:
                yield found, key[len(parent) + 1 :]

    def above(self, dataset: int, key: str) -> list[str]:
        """Return the structs that a column is nested in, outermost first."""
        return parents(key, self.columns_of(dataset).top_level) if "." in key else []

    def within(self, node: int) -> Mapping[str, int]:
        """Return the columns that are nested in this one and there, by the rest of their paths."""
        dataset, key = self._graph.columns[node]
        if key is None or dataset < 0:
            return {}
        found = self._tree(dataset).get(key, {})
        return {rest: self._graph.node_for(dataset, whole) for rest, whole in found.items()}

    def onward(self, node: int, far: int, *, direct: bool) -> Iterator[StepTarget]:
        """Yield what an edge from a column to another reaches."""
        yield StepTarget(far, SURE)
        inside = self.within(far)
        if inside:
            own = self.within(node) if direct else {}
            for rest, each in inside.items():
                if not direct or rest not in own:
                    yield StepTarget(each, MAY if direct else SURE)

    def onward_from_within(self, node: int, parent: int, rest: str, far: int, *, direct: bool) -> Iterator[StepTarget]:
        """Yield what an edge from `parent` reaches for a column at `rest` in it."""
        if not direct:
            yield from self.onward(parent, far, direct=False)
            return
        inside = self.within(far)
        if rest in inside:
            yield from self.onward(node, inside[rest], direct=True)
            around = [inside[rest[:dot]] for dot, letter in enumerate(rest) if letter == "." and rest[:dot] in inside]
            yield from (StepTarget(each, CONTAINS) for each in (*around, far))
            return
        yield StepTarget(far, SURE)
        if inside:
            own = self.within(parent)
            yield from (StepTarget(each, MAY) for at, each in inside.items() if at not in own)

    def back(self, node: int, near: int, *, direct: bool) -> Iterator[StepTarget]:
        """Yield what an edge into a column comes from; mirrors `onward` and `onward_from_within`."""
        yield StepTarget(near, SURE)
        inside = self.within(near)
        if inside:
            own = self.within(node) if direct else {}
            yield from (StepTarget(each, SURE) for rest, each in inside.items() if rest not in own)

    def back_from_within(self, node: int, parent: int, rest: str, near: int, *, direct: bool) -> Iterator[StepTarget]:
        """Yield what an edge from `near` into `parent` means for a column at `rest` in it."""
        inside = self.within(near)
        if not direct:
            yield StepTarget(near, SURE)
            yield from (StepTarget(each, SURE) for each in inside.values())
        elif rest in inside:
            yield from self.back(node, inside[rest], direct=True)
        else:
            yield StepTarget(near, MAY)
            own = self.within(parent)
            above = {rest[:dot] for dot, letter in enumerate(rest) if letter == "."}
            yield from (StepTarget(each, MAY) for at, each in inside.items() if at not in own or at in above)

    def whole(self, nodes: set[int]) -> set[int]:
        """Return columns with all that is nested in them."""
        return nodes | {each for node in nodes for each in self.within(node).values()}

    def moved(self, node: int, dataset: int) -> Iterator[StepTarget]:
        """Yield what holds the values of a column where its name moved on to: `again`, without what it lies in."""
        return self.again(node, dataset, around=False)

    def again(self, node: int, dataset: int, *, around: bool = True) -> Iterator[StepTarget]:
        """Yield what stands for a column in another generation or location of its dataset.

        The same by name in either's spelling, and what is nested in it only there; else the nearest that it lies in
        (around).
        """
        own, key = self._graph.columns[node]
        nodes, here = self._graph.nodes_of(dataset), self.columns_of(own)
        keys = [self.columns_of(dataset).key(key or "")]
        if not self.columns_of(dataset).matches_like(here):
            spelt = {*self.columns_of(dataset).by_key, *(self._graph.columns[each].key or "" for each in nodes)}
            keys += sorted(each for each in spelt if here.key(each) == key)
        same = [self._graph.node_for(dataset, each) for each in dict.fromkeys(keys) if self._is_there(dataset, each)]
        yield from (StepTarget(each, SURE) for each in same)
        for each in same:
            inside = self.within(node)
            yield from (StepTarget(found, MAY) for rest, found in self.within(each).items() if rest not in inside)
        if around and not same:
            outer = [each for each in self.above(dataset, keys[0]) if self._is_there(dataset, each)]
            yield from (StepTarget(self._graph.node_for(dataset, each), SURE) for each in outer[-1:])

    def _is_there(self, dataset: int, key: str) -> bool:
        node = self._graph.node(dataset, key)
        return key in self.columns_of(dataset).by_key or (node is not None and self._edged(node) is not None)

    def _tree(self, dataset: int) -> Mapping[str, Mapping[str, str]]:
        found = self._trees.get(dataset)
        if found is None:
            found = self._trees[dataset] = self._read(dataset) if dataset in self.active else {}
        return found

    def _read(self, dataset: int) -> Mapping[str, Mapping[str, str]]:
        tree: dict[str, dict[str, str]] = {}
        edged = {key for node in self._graph.nodes_of(dataset) if (key := self._edged(node)) is not None}
        for key in dict.fromkeys((*self.columns_of(dataset).by_key, *sorted(edged))):
            for parent in self.above(dataset, key):
                tree.setdefault(parent, {})[key[len(parent) + 1 :]] = key
        return tree

    def _edged(self, node: int) -> str | None:
        """Return the key of a column that lineage proves to be there, None of one that was only asked about."""
        return self._graph.columns[node].key if self._graph.is_there(node) else None
