"""What of a graph counts: masks over edge sets, so that every view walks the same arrays."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from headwater.lineage.edges.nesting import Nesting
from headwater.lineage.time.lifetimes import Lifetimes


class CountedEdges(NamedTuple):
    """What of a graph counts.

    live: by edge set, 1 where it counts; latest: 1 where it is the newest of its job output, whatever it carries;
    reading: 1 where it is either for its job and output over all generations together.
    hidden: datasets that are gone, which walks go through and answers leave out; shows_gone: none is left out.
    """

    live: bytearray
    latest: bytearray
    reading: bytearray
    hidden: frozenset[int]
    lifetimes: Lifetimes
    nesting: Nesting
    shows_gone: bool = False

    def everything(self) -> "CountedEdges":
        """Return a view of every edge set of the graph, in which nothing is gone, `view=all`."""
        return self._replace(live=bytearray(b"\1" * len(self.live)), hidden=frozenset(), shows_gone=True)

    def without(self, numbers: Iterable[int]) -> "CountedEdges":
        """Return this view without some edge sets."""
        masks = [bytearray(mask) for mask in self[:3]]
        for number in numbers:
            for mask in masks:
                mask[number] = 0
        return self._replace(live=masks[0], latest=masks[1], reading=masks[2])

    def moved_on(self, nodes: Collection[int], *, forward: bool) -> set[int]:
        """Return columns with those that hold their values after (or before) a name moved (rule 10.11)."""
        found, todo = set(nodes), list(nodes) if self.lifetimes.has_moves else []
        while todo:
            node = todo.pop()
            for dataset in self.lifetimes.moved_on(self.nesting.dataset_of(node), forward=forward):
                more = {each.node for each in self.nesting.moved(node, dataset)} - found
                found |= more
                todo.extend(more)
        return found

    def says(self, number: int) -> bool:
        """Tell whether an edge set counts, if only as the newest about its output."""
        return bool(self.live[number] or self.latest[number])
