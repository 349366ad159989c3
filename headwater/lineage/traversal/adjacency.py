"""Store the edges at each node in flat arrays of integers: the node at the other end, and the group of edges to it."""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping

NO_EDGES: "array[int]" = array("I")

EdgeGroup = tuple[int, ...]
"""The edges of a job between the same two nodes, as a flat tuple.

It contains two numbers for each edge: the number of the transformation and the number of the edge set.
"""


class EdgeGroups:
    """The groups of edges in a graph. Equal groups are stored once, because a job reports the same for many columns.

    edges: the groups, indexed by group number. A group that is no longer used is empty.
    """

    def __init__(self) -> None:
        self.edges: list[EdgeGroup] = []
        self._numbers: dict[EdgeGroup, int] = {}
        self._uses = array("I")
        self._free: list[int] = []

    def add_use(self, edges: EdgeGroup) -> int:
        """Count one more use of a group, and return its number."""
        number = self._numbers.get(edges)
        if number is None:
            number = self._numbers[edges] = self._free.pop() if self._free else len(self.edges)
            if number == len(self.edges):
                self.edges.append(edges)
                self._uses.append(0)
            self.edges[number] = edges
        self._uses[number] += 1
        return number

    def add_use_of(self, number: int) -> None:
        """Count one more use of a group by its number."""
        self._uses[number] += 1

    def remove_use(self, number: int) -> None:
        """Count one use less of a group, and delete the group after its last use."""
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._numbers[self.edges[number]]
            self.edges[number] = ()
            self._free.append(number)

    def __len__(self) -> int:
        """Return the number of groups in use."""
        return len(self._numbers)


class Adjacency(dict[int, "array[int]"]):
    """The edges at each node, in one direction. The array of a node contains (far node, group number) pairs."""

    def __init__(self, groups: EdgeGroups):
        """Create an empty adjacency; groups: the groups of the graph, which both directions share."""
        self._groups = groups

    def add(self, node: int, far: int, group: int) -> None:
        """Add a group of edges from `node` to `far`."""
        edges = self.get(node)
        if edges is None:
            edges = self[node] = array("I")
        edges.append(far)
        edges.append(group)

    def edges(self, node: int) -> Iterator[tuple[int, int, int]]:
        """Yield (far node, transformation, edge set) of each edge at a node."""
        groups = self._groups.edges
        for far, group in number_pairs(self.get(node, NO_EDGES)):
            for transformation, number in number_pairs(groups[group]):
                yield far, transformation, number

    def group_positions(self, node: int) -> dict[int, int]:
        """Map each far node of a node to the index of its first group number in the node's array."""
        fars = self.get(node, NO_EDGES)[::2]
        return {far: 2 * at + 1 for at, far in zip(range(len(fars) - 1, -1, -1), reversed(fars), strict=True)}

    def replace_groups(self, nodes: Iterable[int], groups: Mapping[int, int | None]) -> None:
        """Replace groups at some nodes.

        groups: maps group numbers to their replacements. None removes a group, and groups without a key stay the same.
        """
        for node in nodes:
            kept = array("I")
            for far, group in number_pairs(self[node]):
                other = groups.get(group, group)
                if other is not None:
                    kept.append(far)
                    kept.append(other)
            self[node] = kept

    def group_numbers(self, nodes: Collection[int]) -> Iterator[int]:
        """Yield the group number of each entry at some nodes."""
        for node in nodes:
            yield from self[node][1::2]


def number_pairs(numbers: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Split a flat sequence into pairs.

    The pairs of a node's array are (far node, group number). The pairs of a group are (transformation, edge set).
    """
    each = iter(numbers)
    return zip(each, each, strict=True)
