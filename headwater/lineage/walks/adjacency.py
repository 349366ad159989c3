"""Edges by node in flat arrays of integers: the node at the other end, and the group of edges that lead there."""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping

NO_EDGES: "array[int]" = array("I")

EdgeGroup = tuple[int, ...]
"""Edges between the same two nodes, one after the other: the number of the transformation, the edge set."""


class EdgeGroups:
    """The groups of a graph by number. Equal ones are stored once, because a job says much the same of many columns."""

    def __init__(self) -> None:
        """Hold no group; edges: by number the edges of a group, none of one that is no longer used."""
        self.edges: list[EdgeGroup] = []
        self._numbers: dict[EdgeGroup, int] = {}
        self._uses = array("I")
        self._free: list[int] = []

    def use(self, edges: EdgeGroup) -> int:
        """Return the number of a group that is used once more."""
        number = self._numbers.get(edges)
        if number is None:
            number = self._numbers[edges] = self._free.pop() if self._free else len(self.edges)
            if number == len(self.edges):
                self.edges.append(edges)
                self._uses.append(0)
            self.edges[number] = edges
        self._uses[number] += 1
        return number

    def use_again(self, number: int) -> None:
        """Count one more use of a group."""
        self._uses[number] += 1

    def release(self, number: int) -> None:
        """Count one use less of a group."""
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._numbers[self.edges[number]]
            self.edges[number] = ()
            self._free.append(number)

    def __len__(self) -> int:
        """Return how many groups are used."""
        return len(self._numbers)


class Adjacency(dict[int, "array[int]"]):
    """The edges at each node, in one direction."""

    def __init__(self, groups: EdgeGroups):
        """Hold nothing yet; groups: as both directions use them."""
        self._groups = groups

    def add(self, node: int, far: int, group: int) -> None:
        """Add the edges of a group."""
        edges = self.get(node)
        if edges is None:
            edges = self[node] = array("I")
        edges.append(far)
        edges.append(group)

    def edges(self, node: int) -> Iterator[tuple[int, int, int]]:
        """Yield (far node, transformation, edge set) of each edge at a node."""
        groups = self._groups.edges
        for far, group in pairs(self.get(node, NO_EDGES)):
            for transformation, number in pairs(groups[group]):
                yield far, transformation, number

    def places(self, node: int) -> dict[int, int]:
        """Return by far node where in the array of a node its first group is."""
        fars = self.get(node, NO_EDGES)[::2]
        return {far: 2 * at + 1 for at, far in zip(range(len(fars) - 1, -1, -1), reversed(fars), strict=True)}

    def replace(self, nodes: Iterable[int], groups: Mapping[int, int | None]) -> None:
        """Replace groups at some nodes by others, None takes them out; all others stay."""
        for node in nodes:
            kept = array("I")
            for far, group in pairs(self[node]):
                other = groups.get(group, group)
                if other is not None:
                    kept.append(far)
                    kept.append(other)
            self[node] = kept

    def used(self, nodes: Collection[int]) -> Iterator[int]:
        """Yield the group of each entry at some nodes."""
        for node in nodes:
            yield from self[node][1::2]


def pairs(numbers: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Yield the numbers two by two: (node, group) of an array of edges, (transformation, edge set) of a group."""
    each = iter(numbers)
    return zip(each, each, strict=True)
