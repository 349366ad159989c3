"""Edges by node in flat arrays of integers: the node at the other end, the `How`, the edge set."""

from array import array
from collections.abc import Iterable

NO_EDGES: "array[int]" = array("I")


class Adjacency(dict[int, "array[int]"]):
    """The edges at each node, in one direction."""

    def add(self, node: int, far: int, transformation: int, number: int) -> None:
        """Add an edge."""
        edges = self.get(node)
        if edges is None:
            edges = self[node] = array("I")
        edges.extend((far, transformation, number))

    def remove(self, nodes: Iterable[int], number: int) -> None:
        """Take the edges of an edge set out at these nodes."""
        for node in nodes:
            kept = (part for edge in triples(self[node]) if edge[2] != number for part in edge)
            self[node] = array("I", kept)


def triples(edges: "array[int]") -> Iterable[tuple[int, int, int]]:
    """Yield (node, transformation, edge set) of an array of edges."""
    numbers = iter(edges)
    return zip(numbers, numbers, numbers, strict=True)
