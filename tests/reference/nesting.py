"""Extend edges between columns to the columns nested in them (docs/reference/lineage.md: columns and nesting)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from tests.reference.generations import Dataset
from tests.reference.schemas import Schemas

Node = tuple[str, str, str, str | None]  # namespace, name, generation, column (None if no column is known)
ColumnEdge = tuple[str, str, str, str, str, str, str, str, str, bool]  # from, to, DIRECT or INDIRECT, masked


class Way(Enum):
    SURE = "sure"
    MAY = "may"
    """The names do not show whether the edge leads there."""
    CONTAINS = "contains"
    """The edge leads into a column nested in the target. The path ends here and does not reach other nested columns."""


class Step(NamedTuple):
    source: Node
    target: Node
    is_direct: bool
    is_masked: bool
    way: Way = Way.SURE
    before_recreation: bool = False


class Nesting:
    """The existing columns, and how they are nested."""

    def __init__(self, schemas: Schemas, nodes: Iterable[Node]) -> None:
        """`nodes`: columns that exist in addition to those of the newest schemas."""
        self.schemas = schemas
        self.there: dict[Dataset, set[str]] = defaultdict(set)
        for dataset in schemas.known:
            self.there[dataset] |= schemas.columns(dataset)
        for node in nodes:
            if node[3] is not None:
                self.there[node[:3]].add(node[3])

    def within(self, node: Node) -> set[str]:
        """Return the columns nested in a column, as the rest of their names: `t` for `s.t` in `s`."""
        column = node[3]
        if column is None:
            return set()
        nested = [each for each in self.there[node[:3]] if self.schemas.is_nested(node[:3], each, column)]
        return {each.removeprefix(column + ".") for each in nested}

    def about(self, node: Node) -> set[Node]:
        """Return a column and all columns nested in it."""
        return {node} | {below(node, part) for part in self.within(node)}

    def above(self, node: Node) -> list[Node]:
        """Return the existing parents of a column, nearest first."""
        column = node[3] or ""
        parents = [each for each in self.there[node[:3]] if self.schemas.is_nested(node[:3], column, each)]
        return [(*node[:3], each) for each in sorted(parents, key=len, reverse=True)]

    def moved(self, node: Node, dataset: Dataset) -> Node:
        """Return the column of the same name in another generation, whether it exists there or not."""
        return (*dataset, None if node[3] is None else self.schemas.key(dataset, node[3]))

    def same(self, node: Node, dataset: Dataset) -> list[Node]:
        """Return the existing columns of another generation with the same name, in the spelling of either
        generation.
        """
        columns: list[Node] = [(*dataset, column) for column in self.there.get(dataset, ())]
        return [each for each in columns if each == self.moved(node, dataset) or self.moved(each, node[:3]) == node]

    def steps(self, edges: Iterable[ColumnEdge]) -> set[Step]:
        return {step for edge in edges for step in self._steps(edge[:4], edge[4:8], edge[8] == "DIRECT", edge[9])}

    def _steps(self, source: Node, target: Node, is_direct: bool, is_masked: bool) -> Iterator[Step]:
        if not is_direct:
            for each in self.about(source):
                for reached in self.about(target):
                    yield Step(each, reached, is_direct, is_masked)
            return
        same = {""} | self.within(source) & self.within(target)
        for part in same:  # deeper nested columns also follow the nearest pair with the same name
            for origin, reached, way in self._by_name(below(source, part), below(target, part)):
                yield Step(origin, reached, is_direct, is_masked, way)

    def _by_name(self, source: Node, target: Node) -> Iterator[tuple[Node, Node, Way]]:
        here, there = self.within(source), self.within(target)
        yield source, target, Way.SURE
        for part in here:
            yield below(source, part), target, Way.CONTAINS if part in there else Way.SURE
        for other in there - here:
            yield source, below(target, other), Way.MAY
            for part in here - there:
                yield below(source, part), below(target, other), Way.MAY


def below(node: Node, part: str) -> Node:
    return (*node[:3], f"{node[3]}.{part}") if part else node
