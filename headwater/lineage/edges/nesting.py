"""Rule 12: extend edges between two columns to the columns that are nested in the two columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from headwater.lineage.edges.schema_columns import Columns, parent_keys
from headwater.lineage.traversal.column_graph import Graph

ColumnsOf = Callable[[int], Columns]
"""(number of a dataset) → the present columns of the dataset (rule 12.7)"""

CERTAIN, POSSIBLE, AS_STRUCT = 0, 1, 2
"""How a step along an edge reaches a column.

CERTAIN: the step reaches the whole column.
POSSIBLE: the step may reach the column, because the names of nested columns do not decide.
AS_STRUCT: the step reaches a column in this struct. It does not reach the other columns of the struct.
"""


class StepTarget(NamedTuple):
    """The node of a column that a step reaches. `reach` is `CERTAIN`, `POSSIBLE` or `AS_STRUCT`."""

    node: int
    reach: int


class Nesting:
    """The nested columns of a graph, by the state of the graph when this object is created.

    nested_datasets: the numbers of the datasets that may have nested columns. This includes datasets for
    which only a question names a nested column.
    """

    def __init__(self, graph: Graph, columns_of: ColumnsOf, nesting_datasets: Iterable[int]):
        """nesting_datasets: the numbers of the datasets with nested columns in their column lists."""
        graph.datasets_with_nesting.update(nesting_datasets)
        self.nested_datasets = graph.datasets_with_nesting
        self._graph = graph
        self.columns_of = columns_of
        self._trees: dict[int, Mapping[str, Mapping[str, str]]] = {}

    def dataset_of(self, node: int) -> int:
        """Return the dataset number of a node. The number is negative if the node is the hub of dataset-wide edges."""
        return self._graph.dataset_of[node]

    def nodes_around(self, node: int) -> Iterator[tuple[int, str]]:
        """Yield (node of the struct, rest of the path) for each struct in the graph around the column of a node.

        The rest of the path leads from the struct to the column.
        """
        dataset, key = self._graph.columns[node]
        if key is None or "." not in key:
            return
        for parent in self.struct_keys_around(dataset, key):
            found = self._graph.find_node(dataset, parent)
            if found is not None:
                yield found, key[len(parent) + 1 :]

    def struct_keys_around(self, dataset: int, key: str) -> list[str]:
        """Return the keys of the structs around a column, from the outermost to the innermost."""
        return parent_keys(key, self.columns_of(dataset).top_level) if "." in key else []

    def nested_nodes(self, node: int) -> Mapping[str, int]:
        """Return the nodes of the columns that are nested in the column of a node.

        The keys are the rest of the path from the column of `node` to the nested column.
        """
        dataset, key = self._graph.columns[node]
        if key is None or dataset < 0:
            return {}
        found = self._nested_keys(dataset).get(key, {})
        return {rest: self._graph.get_or_add_node(dataset, whole) for rest, whole in found.items()}

    def forward_targets(self, node: int, target: int, *, is_direct: bool) -> Iterator[StepTarget]:
        """Yield the columns that an edge from `node` to `target` reaches.

        is_direct: whether the edge is DIRECT.
        """
        yield StepTarget(target, CERTAIN)
        inside = self.nested_nodes(target)
        if inside:
            own = self.nested_nodes(node) if is_direct else {}
            for rest, each in inside.items():
                if not is_direct or rest not in own:
                    yield StepTarget(each, POSSIBLE if is_direct else CERTAIN)

    def forward_targets_of_nested(
        self, node: int, parent: int, rest: str, target: int, *, is_direct: bool
    ) -> Iterator[StepTarget]:
        """Yield the columns that `node` reaches over an edge from `parent` to `target`.

        The column of `node` is nested in the column of `parent`; `rest` is the path from `parent` to `node`.
        """
        if not is_direct:
            yield from self.forward_targets(parent, target, is_direct=False)
            return
        inside = self.nested_nodes(target)
        if rest in inside:
            yield from self.forward_targets(node, inside[rest], is_direct=True)
            around = [inside[rest[:dot]] for dot, letter in enumerate(rest) if letter == "." and rest[:dot] in inside]
            yield from (StepTarget(each, AS_STRUCT) for each in (*around, target))
            return
        yield StepTarget(target, CERTAIN)
        if inside:
            own = self.nested_nodes(parent)
            yield from (StepTarget(each, POSSIBLE) for at, each in inside.items() if at not in own)

    def backward_sources(self, node: int, source: int, *, is_direct: bool) -> Iterator[StepTarget]:
        """Yield the columns that reach `node` over an edge from `source`. This is the inverse of `forward_targets`."""
        yield StepTarget(source, CERTAIN)
        inside = self.nested_nodes(source)
        if inside:
            own = self.nested_nodes(node) if is_direct else {}
            yield from (StepTarget(each, CERTAIN) for rest, each in inside.items() if rest not in own)

    def backward_sources_of_nested(
        self, node: int, parent: int, rest: str, source: int, *, is_direct: bool
    ) -> Iterator[StepTarget]:
        """Yield the columns that reach `node` over an edge from `source` to `parent`.

        The column of `node` is nested in the column of `parent`; `rest` is the path from `parent` to `node`.
        """
        inside = self.nested_nodes(source)
        if not is_direct:
            yield StepTarget(source, CERTAIN)
            yield from (StepTarget(each, CERTAIN) for each in inside.values())
        elif rest in inside:
            yield from self.backward_sources(node, inside[rest], is_direct=True)
        else:
            yield StepTarget(source, POSSIBLE)
            own = self.nested_nodes(parent)
            above = {rest[:dot] for dot, letter in enumerate(rest) if letter == "."}
            yield from (StepTarget(each, POSSIBLE) for at, each in inside.items() if at not in own or at in above)

    def add_nested_columns(self, nodes: set[int]) -> set[int]:
        """Return the nodes of some columns and of all columns that are nested in these columns."""
        return nodes | {each for node in nodes for each in self.nested_nodes(node).values()}

    def counterparts_after_move(self, node: int, dataset: int) -> Iterator[StepTarget]:
        """Yield the columns at another location of a moved name that may have the values of a column (rule 10.11).

        node: the node of the column. dataset: the number of the dataset at the other location.
        Unlike `counterparts`, this method does not fall back to the nearest struct.
        """
        return self.counterparts(node, dataset, may_use_struct=False)

    def counterparts(self, node: int, dataset: int, *, may_use_struct: bool = True) -> Iterator[StepTarget]:
        """Yield the counterparts of a column in another generation or location of its dataset.

        node: the node of the column. dataset: the number of the other generation or location.
        The counterparts are the columns of the same name, by the spelling rules of either dataset. The columns that are
        nested in a counterpart but not in the column itself are possible counterparts.
        may_use_struct: whether to yield the nearest struct around the column if there is no counterpart.
        """
        own, key = self._graph.columns[node]
        nodes, here = self._graph.nodes_of(dataset), self.columns_of(own)
        keys = [self.columns_of(dataset).key(key or "")]
        if not self.columns_of(dataset).has_same_spelling_rules(here):
            spelt = {*self.columns_of(dataset).by_key, *(self._graph.columns[each].key or "" for each in nodes)}
            keys += sorted(each for each in spelt if here.key(each) == key)
        same = [
            self._graph.get_or_add_node(dataset, each)
            for each in dict.fromkeys(keys)
            if self._is_existing_column(dataset, each)
        ]
        yield from (StepTarget(each, CERTAIN) for each in same)
        for each in same:
            inside = self.nested_nodes(node)
            yield from (
                StepTarget(found, POSSIBLE) for rest, found in self.nested_nodes(each).items() if rest not in inside
            )
        if may_use_struct and not same:
            outer = [
                each for each in self.struct_keys_around(dataset, keys[0]) if self._is_existing_column(dataset, each)
            ]
            yield from (StepTarget(self._graph.get_or_add_node(dataset, each), CERTAIN) for each in outer[-1:])

    def _is_existing_column(self, dataset: int, key: str) -> bool:
        node = self._graph.find_node(dataset, key)
        return key in self.columns_of(dataset).by_key or (node is not None and self._key_in_lineage(node) is not None)

    def _nested_keys(self, dataset: int) -> Mapping[str, Mapping[str, str]]:
        found = self._trees.get(dataset)
        if found is None:
            found = self._trees[dataset] = self._read_nested_keys(dataset) if dataset in self.nested_datasets else {}
        return found

    def _read_nested_keys(self, dataset: int) -> Mapping[str, Mapping[str, str]]:
        tree: dict[str, dict[str, str]] = {}
        edged = {key for node in self._graph.nodes_of(dataset) if (key := self._key_in_lineage(node)) is not None}
        for key in dict.fromkeys((*self.columns_of(dataset).by_key, *sorted(edged))):
            for parent in self.struct_keys_around(dataset, key):
                tree.setdefault(parent, {})[key[len(parent) + 1 :]] = key
        return tree

    def _key_in_lineage(self, node: int) -> str | None:
        """Return the key of the column of a node if lineage names the column; None if only a question names it."""
        return self._graph.columns[node].key if self._graph.is_in_lineage(node) else None
