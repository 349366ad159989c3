"""Choose the edges that walks follow.

Of all edges between the same two columns, a walk follows only one. The choice is cached for each group of edges.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import chain, compress
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.traversal.adjacency import NO_EDGES, EdgeGroup, number_pairs
from headwater.lineage.traversal.column_graph import Graph

MAX_BYTES = 48 << 20
"""The approximate size of the cached edges of one snapshot, in bytes, above which the cache is cleared."""

_NODE_BYTES = 240
_EDGE_BYTES = 12
_CHOICE_BYTES = 180
_FIRST_UNION = 1 << 31
"""The smallest number of a group that exists only in an `EdgeStore`."""

_NEWEST_AGE = -(1 << 62)

Edge = tuple[int, int]
"""(transformation number, edge set number)."""

FarEdge = tuple[int, int, int]
"""(node at the other end, transformation number, edge set number)."""

Rank = tuple[int, bool, bool, bool, Name, str, str]
"""The sort key of edges between the same two columns; the edge with the smallest key is chosen.

Edges of newest executions come first, then the edges of the earlier execution that ended last. Among edges of the same
age, edges of jobs that are presumed retired come last. Then DIRECT edges come before INDIRECT edges, and edges without
a mask before edges with a mask. Names break ties.
"""


class NodeEdges(NamedTuple):
    """The edges at a node, as (far node, group number) pairs like in `Adjacency`.

    plain: the edges between datasets without nested columns, one group for each far node.
    special: the other edges. They start or end at datasets that may have nested columns, or at hubs of dataset-wide
    edges.
    """

    plain: "array[int]"
    special: "array[int]" = NO_EDGES


class EdgeStore:
    """A cache of the plain and special edges at each node, for all views of one snapshot.

    age: the number of times that the cache was cleared.
    """

    def __init__(self, graph: Graph):
        """graph: the graph, which must not change afterwards, except for new nodes of columns that questions name."""
        self.graph = graph
        self.age = 0
        self._directions = (graph.incoming, graph.outgoing)
        self._cached_edges: tuple[dict[int, NodeEdges], dict[int, NodeEdges]] = ({}, {})
        self._union_groups: dict[int, EdgeGroup] = {}
        self._unions = 0
        self._bytes = 0
        self._nested = len(graph.datasets_with_nesting)

    def node_edges(self, node: int, *, forward: bool) -> NodeEdges | None:
        """Return the edges at a node, None if the node has no edges.

        If a question added a node for a nested column to a dataset without such columns, the cache is cleared first.
        """
        if len(self.graph.datasets_with_nesting) != self._nested:
            self._nested = len(self.graph.datasets_with_nesting)
            self._clear()
        kept = self._cached_edges[forward]
        found = kept.get(node)
        if found is None:
            edges = self._directions[forward].get(node)
            if not edges:
                return None
            self.add_size(_NODE_BYTES)
            found = kept[node] = self._split_plain_and_special(node, edges)
        return found

    def edge_group(self, number: int) -> EdgeGroup:
        """Return the edges of a group by its number. The group belongs to the graph, or `node_edges` created it."""
        return self.graph.edge_groups.edges[number] if number < _FIRST_UNION else self._union_groups[number]

    def add_size(self, size_bytes: int) -> None:
        """Add to the count of cached bytes. If the count exceeds `MAX_BYTES`, the next walk clears the cache."""
        self._bytes += size_bytes

    def begin_walk(self) -> int:
        """Clear the cache if it is too large, and return its age. Each walk calls this method first."""
        if self._bytes > MAX_BYTES:
            self._clear()
        return self.age

    def _split_plain_and_special(self, node: int, edges: "array[int]") -> NodeEdges:
        dataset_of, nested = self.graph.dataset_of, self.graph.datasets_with_nesting
        if dataset_of[node] in nested:
            return NodeEdges(NO_EDGES, edges)
        fars = edges[::2]
        datasets = set(map(dataset_of.__getitem__, fars))
        special = {each for each in datasets if each < 0 or each in nested} if nested or min(datasets) < 0 else ()
        if not special and len(set(fars)) == len(fars):
            return NodeEdges(edges)
        plain: dict[int, list[int]] = {}
        others = array("I")
        for far, group in number_pairs(edges):
            if dataset_of[far] in special:
                others.append(far)
                others.append(group)
            else:
                plain.setdefault(far, []).append(group)
        united = ((far, groups[0] if len(groups) == 1 else self._add_union(groups)) for far, groups in plain.items())
        return NodeEdges(array("I", chain.from_iterable(united)), others)

    def _add_union(self, groups: Iterable[int]) -> int:
        """Return the number of a new group with the edges of several jobs between the same two nodes."""
        found = _FIRST_UNION + self._unions
        self._unions += 1
        edges = self._union_groups[found] = tuple(chain.from_iterable(map(self.edge_group, groups)))
        self.add_size(_NODE_BYTES + _EDGE_BYTES * len(edges))
        return found

    def _clear(self) -> None:
        self.age += 1
        self._bytes = 0
        self._union_groups.clear()
        for kept in self._cached_edges:
            kept.clear()


class EdgeOrder(NamedTuple):
    """The order in which edges between the same two columns are preferred.

    newest: a mask with 1 for each edge set of a newest execution; empty if earlier executions do not count.
    last_us: the times at which runs last reported each edge set, indexed by edge set.
    presumed: the edge sets of jobs that are presumed retired.
    """

    graph: Graph
    newest: bytes
    last_us: Sequence[int]
    presumed: Set[int] = frozenset()

    def rank(self, transformation: int, number: int) -> Rank:
        """Return the sort key of an edge; the edge with the smallest key is chosen."""
        what = self.graph.transformations[transformation]
        job = self.graph.edge_sets[number][0].job
        is_presumed = number in self.presumed
        return (
            self._age_key(number), is_presumed, not what.is_direct, what.is_masked, job, what.subtype or "",
            what.description or "",
        )  # fmt: skip

    def first_edge(self, edges: Sequence[Edge]) -> Edge:
        """Return the edge with the smallest rank. In most cases, comparing ages is enough, which is cheaper."""
        newest = self.newest
        candidates = [edge for edge in edges if edge[1] >= len(newest) or newest[edge[1]]]
        if not candidates:
            last_us = max(self.last_us[number] for _, number in edges)
            candidates = [edge for edge in edges if self.last_us[edge[1]] == last_us]
        return candidates[0] if len(candidates) == 1 else min(candidates, key=self._whole_rank)

    def _whole_rank(self, edge: Edge) -> tuple[Rank, int, int]:
        return self.rank(*edge), *edge

    def _age_key(self, number: int) -> int:
        """Return the sort key of an edge set's age, which is smallest for newest executions.

        Among earlier executions, the execution that ended last has the smallest key.
        """
        if number >= len(self.newest) or self.newest[number]:
            return _NEWEST_AGE
        return -self.last_us[number]


class EdgeChoices(dict[int, Edge | tuple[()]]):
    """Maps group numbers to the edge to follow: the counted edge with the smallest rank, or () if no edge counts.

    The choices are cached, because the same group occurs at many nodes.
    """

    def __init__(self, store: EdgeStore, order: EdgeOrder, counts: bytearray, allowed: bytes):
        """Start without choices.

        counts: a mask with 1 for each edge set that counts.
        allowed: a mask with 1 for each transformation that the walk may follow.
        """
        self._store, self._order, self._counted_mask, self._allowed = store, order, counts, allowed

    def __missing__(self, group: int) -> Edge | tuple[()]:
        """Choose the edge to follow in a group."""
        found = self[group] = self._only_newest_edge(self._store.edge_group(group)) or self._first_edge(group)
        self._store.add_size(_CHOICE_BYTES)
        return found

    def _only_newest_edge(self, edges: EdgeGroup) -> Edge | None:
        """Return the edge of the newest execution in a group, because it has the smallest rank.

        Returns None if the group has no or several edges of newest executions, or if a walk may not follow this edge.
        """
        numbers, newest = edges[1::2], self._order.newest
        if not newest:
            return None
        found = list(compress(numbers, map(newest.__getitem__, numbers)))
        if len(found) != 1 or not self._counted_mask[found[0]]:
            return None
        transformation = edges[2 * numbers.index(found[0])]
        return (transformation, found[0]) if self._allowed[transformation] else None

    def _first_edge(self, group: int) -> Edge | tuple[()]:
        every = self.counted_edges(group)
        return every[0] if len(every) == 1 else self._order.first_edge(every) if every else ()

    def counted_edges(self, group: int) -> list[Edge]:
        """Return the edges of a group that count and have an allowed transformation."""
        counts, allowed = self._counted_mask, self._allowed
        return [edge for edge in number_pairs(self._store.edge_group(group)) if counts[edge[1]] and allowed[edge[0]]]


class FollowedEdges:
    """The edges that walks in one direction follow: counted edges with allowed transformations.

    node_edges: a function that returns the edges at a node, None without edges.
    """

    def __init__(self, store: EdgeStore, order: EdgeOrder, choices: EdgeChoices, *, forward: bool):
        """Use the shared caches `store` and `choices`; forward: whether to follow edges from source to target."""
        self.age = store.age
        self.choices = choices
        self.node_edges: Callable[[int], NodeEdges | None] = partial(store.node_edges, forward=forward)
        self._store, self._order = store, order
        self._special: dict[int, tuple[NodeEdges, Sequence[FarEdge]]] = {}

    def special_edges(self, node: int, edges: NodeEdges) -> Sequence[FarEdge]:
        """Return the special edges among the edges at a node that count, sorted by rank."""
        kept = self._special.get(node)
        if kept is not None and kept[0] is edges:
            return kept[1]
        every = [
            (far, *edge) for far, group in number_pairs(edges.special) for edge in self.choices.counted_edges(group)
        ]
        every.sort(key=lambda edge: self._order.rank(edge[1], edge[2]))
        self._special[node] = edges, every
        self._store.add_size(_NODE_BYTES + 10 * _EDGE_BYTES * len(every))
        return every

    def far_columns(self, node: int) -> Iterator[int]:
        """Yield the columns at the other ends of the edges at a node, passing through hubs of dataset-wide edges."""
        edges, choices, dataset_of = self.node_edges(node), self.choices, self._store.graph.dataset_of
        if edges is None:
            return
        for far, group in number_pairs(edges.plain):
            if choices[group]:
                yield far
        for far, _, _ in self.special_edges(node, edges) if edges.special else ():
            if dataset_of[far] < 0:
                yield from self.far_columns(far)
            else:
                yield far
