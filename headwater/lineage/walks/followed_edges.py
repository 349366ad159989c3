"""The edges of a node that walks of one kind follow, chosen once for each node: many walks come by the same nodes."""

from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, compress
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.walks.adjacency import triples
from headwater.lineage.walks.column_graph import Graph

MOST_BYTES = 48 << 20
"""What the kept edges of one snapshot may take, about; beyond it all are forgotten."""

_NODE_BYTES = 240
_EDGE_BYTES = 12
_NO_AGE = -(1 << 62)

FarEdge = tuple[int, int, int]
"""The node at the other end, the number of the transformation, the edge set."""

Rank = tuple[int, bool, bool, bool, Name, str, str]
"""By which of several edges is chosen.

Newest executions before earlier ones, of these the last, and jobs that are presumed retired after all others of the
same age; values before what they depend on, readable before masked, then by name.
"""


class NodeEdges(NamedTuple):
    """What to follow from a node.

    plain: between datasets without nested columns, as in `Adjacency`: of several edges to one column the first by rank;
    others: all that need more thought, in the order of rank.
    """

    plain: "array[int]"
    others: Sequence[FarEdge] = ()


class EdgeStore:
    """Keeps the edges of nodes for all views of one snapshot."""

    def __init__(self, graph: Graph):
        """Keep nothing yet; `graph` must not change any more, except for columns that are asked about."""
        self.graph = graph
        self._kept: dict[int, NodeEdges] = {}
        self._bytes = 0
        self._nested = len(graph.nested)
        self._kinds = 0

    def new_kind(self) -> int:
        """Return what to add to nodes so that their keys belong to one kind of walk."""
        self._kinds += 1
        return self._kinds << 32

    def get(self, key: int) -> NodeEdges | None:
        """Return what was kept. A question about a nested column makes all of it invalid."""
        if len(self.graph.nested) != self._nested:
            self._nested = len(self.graph.nested)
            self._clear()
        return self._kept.get(key)

    def keep(self, key: int, found: NodeEdges) -> NodeEdges:
        """Keep the edges of a node; returns them."""
        if self._bytes > MOST_BYTES:
            self._clear()
        self._bytes += _NODE_BYTES + _EDGE_BYTES * (len(found.plain) // 3 + 10 * len(found.others))
        self._kept[key] = found
        return found

    def _clear(self) -> None:
        self._kept.clear()
        self._bytes = 0


class EdgeOrder(NamedTuple):
    """Which of several edges is chosen; newest, last_us, presumed: as in `CountedEdges`."""

    graph: Graph
    newest: bytes
    last_us: Sequence[int]
    presumed: Set[int] = frozenset()

    def rank(self, transformation: int, number: int) -> Rank:
        """Return the least for the edge that is chosen."""
        what = self.graph.transformations[transformation]
        job = self.graph.sets[number][0].job
        is_presumed = number in self.presumed
        return (
            self._age(number), is_presumed, not what.direct, what.masked, job, what.subtype or "",
            what.description or "",
        )  # fmt: skip

    def first(self, edges: Sequence[FarEdge]) -> FarEdge:
        """Return the edge that is chosen; mostly its age decides, which is cheaper than all of its rank."""
        newest = self.newest
        candidates = [edge for edge in edges if edge[2] >= len(newest) or newest[edge[2]]]
        if not candidates:
            last_us = max(self.last_us[number] for _, _, number in edges)
            candidates = [edge for edge in edges if self.last_us[edge[2]] == last_us]
        return candidates[0] if len(candidates) == 1 else min(candidates, key=self._whole_rank)

    def _whole_rank(self, edge: FarEdge) -> tuple[Rank, int, int]:
        _, transformation, number = edge
        return self.rank(transformation, number), transformation, number

    def _age(self, number: int) -> int:
        """Return the least for what newest executions say, and less for an earlier execution the later it ended."""
        if number >= len(self.newest) or self.newest[number]:
            return _NO_AGE
        return -self.last_us[number]


class FollowedEdges:
    """The edges that walks in one direction follow: those of edge sets that count, over transformations allowed."""

    def __init__(self, store: EdgeStore, order: EdgeOrder, counts: bytearray, allowed: bytes, *, forward: bool):
        """Follow nothing yet.

        counts: by edge set, 1 where it counts; allowed: by transformation, 1 where a walk may go.
        """
        self._store, self._order = store, order
        self._counts, self._allowed = counts, allowed
        self._adjacency = store.graph.out if forward else store.graph.into
        self._kind = store.new_kind()

    def at(self, node: int) -> NodeEdges | None:
        """Return what to follow from a node, None where nothing leads on."""
        found = self._store.get(self._kind + node)
        if found is not None:
            return found
        edges = self._adjacency.get(node)
        return None if edges is None else self._store.keep(self._kind + node, self._choose(node, edges))

    def sources(self, node: int) -> Iterator[int]:
        """Yield the columns at the far ends, also over the meeting point of dataset-wide edges; nothing is kept."""
        edges, allowed, dataset_of = self._adjacency.get(node), self._allowed, self._store.graph.dataset_of
        if edges is None:
            return
        for far, transformation, _ in compress(triples(edges), map(self._counts.__getitem__, edges[2::3])):
            if allowed[transformation] and dataset_of[far] < 0:
                yield from self.sources(far)
            elif allowed[transformation]:
                yield far

    def _choose(self, node: int, edges: "array[int]") -> NodeEdges:
        """Choose the edges to follow: what newest executions say goes first, and only what is left needs a rank.

        A year of executions that say much the same leads from a node a dozen times to each column.
        """
        allowed, order = self._allowed, self._order
        counted = compress(triples(edges), map(self._counts.__getitem__, edges[2::3]))
        every = [edge for edge in counted if allowed[edge[1]]]
        if self._store.graph.dataset_of[node] in self._store.graph.nested:
            return NodeEdges(array("I"), self._in_order(every))
        newest = order.newest
        first = [edge for edge in every if newest[edge[2]]] if newest else every
        plain = {edge[0]: edge for edge in first}
        unsettled = first if len(plain) < len(first) else []
        if len(first) < len(every):
            unsettled = unsettled + [edge for edge in every if edge[0] not in plain]
        several: dict[int, list[FarEdge]] = {}
        for edge in unsettled:
            several.setdefault(edge[0], []).append(edge)
        for far, same in several.items():
            plain[far] = order.first(same)
        special = self._special(plain)
        others = self._in_order([edge for edge in every if edge[0] in special]) if special else ()
        for far in special:
            del plain[far]
        return NodeEdges(array("I", chain.from_iterable(plain.values())), others)

    def _special(self, nodes: Iterable[int]) -> set[int]:
        """Return the nodes at which a walk needs more thought: nested columns, and meeting points."""
        dataset_of, nested = self._store.graph.dataset_of, self._store.graph.nested
        return {node for node in nodes if dataset_of[node] < 0 or dataset_of[node] in nested}

    def _in_order(self, edges: list[FarEdge]) -> Sequence[FarEdge]:
        if len(edges) > 1:
            edges.sort(key=lambda edge: self._order.rank(edge[1], edge[2]))
        return edges or ()
