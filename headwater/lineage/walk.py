"""Rule 7: impact and upstream. Breadth first over every edge; what came over a mask once more, without those."""

from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from headwater.lineage.adjacency import NO_EDGES, triples
from headwater.lineage.graph import Graph

Mode = Literal["value", "any"]

Step = tuple[int, int, int, int]
"""To which node, from which, by which `How`, of which edge set."""


class View(NamedTuple):
    """What of a graph counts.

    live: by edge set, 1 where it counts; latest: 1 where it is the newest word of its group, whatever it carries.
    hidden: dropped datasets.
    """

    live: bytearray
    latest: bytearray
    hidden: frozenset[int]

    def everything(self) -> "View":
        """Return a view of every edge set of the graph, `view=all`."""
        return self._replace(live=bytearray(b"\1" * len(self.live)))

    def without(self, numbers: Iterable[int]) -> "View":
        """Return this view without some edge sets."""
        live = bytearray(self.live)
        for number in numbers:
            live[number] = 0
        return self._replace(live=live)


class Hit(NamedTuple):
    """A reached column: how far, from which column by which edge, and whether every way to it masks."""

    node: int
    distance: int
    masked: bool
    parent: int
    how: int
    edge_set: int


class Walked(NamedTuple):
    """Hits in order of (distance, namespace, dataset, column); truncated: there are more than asked for."""

    hits: list[Hit]
    truncated: bool


def walk(
    graph: Graph, starts: Collection[int], view: View, *, forward: bool, mode: Mode, depth: int, limit: int
) -> Walked:
    """Return the columns reached from `starts`, which are left out: at most `limit`, at most `depth` edges away."""
    every = Wave(graph, starts, view, forward=forward, allowed=allowed_hows(graph, mode, masked=True))
    hits: list[Hit] = []
    while every.front and every.distance < depth and len(hits) <= limit:
        hits += every.advance(limit + 1 - len(hits))
    kept = hits[:limit]
    masked = _over_a_mask(graph, kept)
    clear = Wave(graph, starts, view, forward=forward, allowed=allowed_hows(graph, mode, masked=False))
    while masked and clear.front:  # another way, perhaps a longer one, may be without a mask
        masked.difference_update(hit.node for hit in clear.advance())
    truncated = len(hits) > limit or bool(every.front and every.advance(1))
    return Walked([hit._replace(masked=True) if hit.node in masked else hit for hit in kept], truncated)


def _over_a_mask(graph: Graph, hits: Iterable[Hit]) -> set[int]:
    """Return the nodes that were reached over a step that masks; nearer hits come first."""
    masks = [how.masked for how in graph.hows]
    found: set[int] = set()
    if any(masks):
        for hit in hits:
            if masks[hit.how] or hit.parent in found:
                found.add(hit.node)
    return found


def allowed_hows(graph: Graph, mode: Mode, *, masked: bool) -> bytes:
    """Return by `How` number, 1 where a walk may go: `value` follows DIRECT edges, `any` all."""
    passes = bytes((mode == "any" or how.direct) and (masked or not how.masked) for how in graph.hows)
    return b"\1" + passes[1:]


class Wave:
    """A breadth-first search, one distance at a time."""

    def __init__(self, graph: Graph, starts: Collection[int], view: View, *, forward: bool, allowed: bytes):
        """Begin at `starts`; dropped datasets have no edges."""
        self.reached = set(starts)
        self.distance = 0
        self._graph = graph
        self._view = view
        self._edges = graph.out if forward else graph.into
        self._allowed = allowed
        self._crossed: set[int] = set()
        self.front = [step[0] for step in self._in_order([(node, node, 0, 0) for node in starts], None)]

    def advance(self, most: int | None = None) -> list[Hit]:
        """Go one edge further; returns what is new there, in order of (namespace, dataset, column).

        most: of more than these the first are returned, and there the search ends.
        """
        self.distance += 1
        found = [step for parent in self.front for step in self._steps(parent)]
        steps = self._in_order(found, most)
        self.front = [step[0] for step in steps]
        return [Hit(node, self.distance, False, parent, how, number) for node, parent, how, number in steps]

    def _in_order(self, steps: Iterable[Step], most: int | None) -> list[Step]:
        """Sort dataset by dataset, which is cheaper than comparing long names for each column."""
        names, columns, dataset_of = self._graph.names, self._graph.columns, self._graph.dataset_of
        by_dataset: dict[int, list[Step]] = {}
        for step in steps:
            by_dataset.setdefault(dataset_of[step[0]], []).append(step)
        ordered: list[Step] = []
        for dataset in sorted(by_dataset, key=names.__getitem__):
            ordered += sorted(by_dataset[dataset], key=lambda step: columns[step[0]].key or "")
            if most is not None and len(ordered) >= most:
                return ordered[:most]
        return ordered

    def _steps(self, parent: int) -> list[Step]:
        """Return what one node leads to; a list, because a generator costs twice as much."""
        edges = self._edges.get(parent)
        dataset_of, reached, hidden = self._graph.dataset_of, self.reached, self._view.hidden
        found: list[Step] = []
        if edges is None or dataset_of[parent] in hidden:
            return found
        live, allowed = self._view.live, self._allowed
        for far, how, number in triples(edges):
            if far in reached or not live[number] or not allowed[how]:
                continue
            dataset = dataset_of[far]
            if dataset < 0:
                found += self._cross(parent, far, how, number)
            elif dataset not in hidden:
                reached.add(far)
                found.append((far, parent, how, number))
        return found

    def _cross(self, parent: int, middle: int, how: int, number: int) -> Iterator[Step]:
        """Go through the meeting point of dataset-wide edges, which is no distance; once, for all that come later."""
        if middle in self._crossed:
            return
        self._crossed.add(middle)
        for far, onward, _ in triples(self._edges.get(middle, NO_EDGES)):
            dataset = self._graph.dataset_of[far]
            if far not in self.reached and self._allowed[how or onward] and dataset not in self._view.hidden:
                self.reached.add(far)
                yield far, parent, how or onward, number
