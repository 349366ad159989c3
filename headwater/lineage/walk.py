"""Rule 7: impact and upstream. Breadth first, twice in step: over every edge, and over those that do not mask."""

from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from headwater.lineage.graph import WIDTH, Graph
from headwater.lineage.name import Name

Mode = Literal["value", "any"]


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
    clear = Wave(graph, starts, view, forward=forward, allowed=allowed_hows(graph, mode, masked=False))
    hits: list[Hit] = []
    while every.front and every.distance < depth and len(hits) <= limit:
        hits += every.advance()
        clear.advance()
    kept = hits[:limit]
    open_questions = {hit.node for hit in kept} - clear.reached
    while open_questions and clear.front:  # a longer way may be without a mask
        open_questions.difference_update(hit.node for hit in clear.advance())
    truncated = len(hits) > limit or bool(every.front and every.advance())
    return Walked([hit._replace(masked=hit.node in open_questions) for hit in kept], truncated)


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
        self.front = sorted(starts, key=lambda node: sort_key(graph, node))
        self._graph = graph
        self._view = view
        self._edges = graph.out if forward else graph.into
        self._allowed = allowed
        self._crossed: set[int] = set()

    def advance(self) -> list[Hit]:
        """Go one edge further; returns what is new there, in order of (namespace, dataset, column)."""
        self.distance += 1
        hits = [
            Hit(node, self.distance, False, parent, how, number)
            for parent in self.front
            for node, how, number in self._steps(parent)
        ]
        hits.sort(key=lambda hit: sort_key(self._graph, hit.node))
        self.front = [hit.node for hit in hits]
        return hits

    def _steps(self, node: int) -> Iterator[tuple[int, int, int]]:
        edges = self._edges.get(node)
        columns, reached, hidden = self._graph.columns, self.reached, self._view.hidden
        if edges is None or columns[node].dataset in hidden:
            return
        live, allowed = self._view.live, self._allowed
        for at in range(0, len(edges), WIDTH):
            far, how, number = edges[at], edges[at + 1], edges[at + 2]
            if far in reached or not live[number] or not allowed[how]:
                continue
            dataset = columns[far].dataset
            if dataset < 0:
                yield from self._cross(far, how, number)
            elif dataset not in hidden:
                reached.add(far)
                yield far, how, number

    def _cross(self, middle: int, how: int, number: int) -> Iterator[tuple[int, int, int]]:
        """Go through the meeting point of dataset-wide edges, which is no distance; once, for all that come later."""
        if middle in self._crossed:
            return
        edges = self._edges.get(middle, ())
        for at in range(0, len(edges), WIDTH):
            far, onward = edges[at], edges[at + 1]
            dataset = self._graph.columns[far].dataset
            if far not in self.reached and self._allowed[how or onward] and dataset not in self._view.hidden:
                self.reached.add(far)
                yield far, how or onward, number
        if how or all(self._allowed[edges[at + 1]] for at in range(0, len(edges), WIDTH)):
            self._crossed.add(middle)


def sort_key(graph: Graph, node: int) -> tuple[Name, str]:
    """Return what orders columns: namespace, dataset, column."""
    dataset, key = graph.columns[node]
    return graph.names[dataset], key or ""
