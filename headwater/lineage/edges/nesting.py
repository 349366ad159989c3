"""Rule 12: follow edges between columns to the columns that are nested in them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from headwater.lineage.edges.schema_columns import Columns, parents
from headwater.lineage.traversal.column_graph import Graph

ColumnsOf = Callable[[int], Columns]
"""Dataset number → its columns now (rule 12.7)."""

SURE, MAY, CONTAINS = 0, 1, 2
"""How a step reaches a column.

SURE: completely. MAY: perhaps, because the names do not decide. CONTAINS: as a struct around the reached column; its
other columns are not reached.
"""


class StepTarget(NamedTuple):
    """The node of a column that a step reaches, and how it does (`SURE`, `MAY` or `CONTAINS`)."""

    node: int
    kind: int


class Nesting:
    """The nested columns of a graph, as they are known when this object is created.

    active: the datasets that may have nested columns, also because a question names one.
    """

    def __init__(self, graph: Graph, columns_of: ColumnsOf, by_schema: Iterable[int]):
        """by_schema: the datasets whose lists nest columns."""
        graph.nested.update(by_schema)
        self.active = graph.nested
        self._graph = graph
        self.columns_of = columns_of
        self._trees: dict[int, Mapping[str, Mapping[str, str]]] = {}

    def dataset_of(self, node: int) -> int:
        """Return the dataset number of a node; it is negative for the hub of dataset-wide edges."""
        return self._graph.dataset_of[node]

    def lies_in(self, node: int) -> Iterator[tuple[int, str]]:
        """Yield (node, rest of the path) for each column of the graph that this column is nested in."""
        dataset, key = self._graph.columns[node]
        if key is None or "." not in key:
            return
        for parent in self.above(dataset, key):
            found = self._graph.node(dataset, parent)
            if found is not None:
                yield found, key[len(parent) + 1 :]

    def above(self, dataset: int, key: str) -> list[str]:
        """Return the keys of the structs that a column is nested in, the outermost first."""
        return parents(key, self.columns_of(dataset).top_level) if "." in key else []

    def within(self, node: int) -> Mapping[str, int]:
        """Return the nodes of the existing columns that are nested in this one, by the rest of their paths."""
        dataset, key = self._graph.columns[node]
        if key is None or dataset < 0:
            return {}
        found = self._tree(dataset).get(key, {})
        return {rest: self._graph.get_or_add_node(dataset, whole) for rest, whole in found.items()}

    def onward(self, node: int, far: int, *, direct: bool) -> Iterator[StepTarget]:
        """Yield the columns that an edge from `node` to `far` reaches."""
        yield StepTarget(far, SURE)
        inside = self.within(far)
        if inside:
            own = self.within(node) if direct else {}
            for rest, each in inside.items():
                if not direct or rest not in own:
                    yield StepTarget(each, MAY if direct else SURE)

    def onward_from_within(self, node: int, parent: int, rest: str, far: int, *, direct: bool) -> Iterator[StepTarget]:
        """Yield the columns that an edge from `parent` to `far` reaches from `node`, nested at `rest` in `parent`."""
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
        """Yield the columns from which an edge from `near` into `node` reaches it; the inverse of `onward`."""
        yield StepTarget(near, SURE)
        inside = self.within(near)
        if inside:
            own = self.within(node) if direct else {}
            yield from (StepTarget(each, SURE) for rest, each in inside.items() if rest not in own)

    def back_from_within(self, node: int, parent: int, rest: str, near: int, *, direct: bool) -> Iterator[StepTarget]:
        """Yield the sources of `node`, nested at `rest` in `parent`, over an edge from `near` into `parent`."""
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
        """Return columns with all columns that are nested in them."""
        return nodes | {each for node in nodes for each in self.within(node).values()}

    def moved(self, node: int, dataset: int) -> Iterator[StepTarget]:
        """Yield the columns that may have the values of a column at another location of a moved name (rule 10.11).

        Unlike `again`, this does not fall back to the nearest struct.
        """
        return self.again(node, dataset, around=False)

    def again(self, node: int, dataset: int, *, around: bool = True) -> Iterator[StepTarget]:
        """Yield the counterparts of a column in another generation or location of its dataset.

        These are the columns of the same name, by the spelling rules of either side, and the columns that are nested in
        them only there. If there are none, and with `around`, it is the nearest struct around the column.
        """
        own, key = self._graph.columns[node]
        nodes, here = self._graph.nodes_of(dataset), self.columns_of(own)
        keys = [self.columns_of(dataset).key(key or "")]
        if not self.columns_of(dataset).matches_like(here):
            spelt = {*self.columns_of(dataset).by_key, *(self._graph.columns[each].key or "" for each in nodes)}
            keys += sorted(each for each in spelt if here.key(each) == key)
        same = [
            self._graph.get_or_add_node(dataset, each) for each in dict.fromkeys(keys) if self._is_there(dataset, each)
        ]
        yield from (StepTarget(each, SURE) for each in same)
        for each in same:
            inside = self.within(node)
            yield from (StepTarget(found, MAY) for rest, found in self.within(each).items() if rest not in inside)
        if around and not same:
            outer = [each for each in self.above(dataset, keys[0]) if self._is_there(dataset, each)]
            yield from (StepTarget(self._graph.get_or_add_node(dataset, each), SURE) for each in outer[-1:])

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
        """Return the key of a column that lineage names, None if only a question names it."""
        return self._graph.columns[node].key if self._graph.is_in_lineage(node) else None
