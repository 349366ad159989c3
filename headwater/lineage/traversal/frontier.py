"""A breadth-first search over the edges that count, which advances by one edge at a time."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from headwater.lineage.edges.nesting import AS_STRUCT, CERTAIN, POSSIBLE, StepTarget
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.traversal.adjacency import number_pairs
from headwater.lineage.traversal.column_graph import Graph
from headwater.lineage.traversal.followed_edges import FarEdge, FollowedEdges, Rank

_REACHED_AGAIN = 3
"""The kind of a step to a column that is reached now, but was already a result as a struct around another column."""

SearchStep = tuple[int, int, int, int, int]
"""(node, previous node, transformation number, edge set, kind). The kinds are defined here and in `nesting`."""


class Hit(NamedTuple):
    """A column that a search reached, with its distance in edges and the last edge on the way.

    node: the reached column. parent: the previous node. transformation, edge_set: the numbers of the edge between them.
    masked: whether every path to the column masks.
    recreated: whether every path to the column contains a reader of another generation.
    earlier: whether every path to the column contains an edge that only earlier executions report.
    presumed: whether every path to the column contains an edge that only jobs presumed retired report.
    """

    node: int
    distance: int
    masked: bool
    parent: int
    transformation: int
    edge_set: int
    recreated: bool = False
    earlier: bool = False
    presumed: bool = False


class FrontierSearch:
    """A breadth-first search that advances by one edge at a time. It also passes through dropped datasets.

    starts: the nodes at which the search began.
    frontier: the nodes that the last step reached.
    reached: all nodes reached so far.
    distance: the number of edges from the starts to the frontier.
    used_other_generations: whether a reader of another generation led to at least one node.
    possible_hits: steps that may lead to a column but were not followed, because `follow_possible` is False.
    """

    def __init__(
        self,
        graph: Graph,
        starts: Collection[int],
        counted: CountedEdges,
        *,
        forward: bool,
        allowed: bytes,
        follow_readers: bool = False,
        follow_possible: bool = True,
        may_return: bool = False,
    ):
        """Begin at `starts` and at their counterparts at other locations of moved names (rule 10.11).

        forward: True to follow edges from source to target, False for the opposite direction.
        allowed: a mask with 1 for each transformation that the search may follow.
        follow_readers: whether to follow current readers of other generations, too (rule 7.4).
        follow_possible: whether to follow steps that are not certain to lead to a column (`POSSIBLE`). If False, the
        attribute `possible_hits` collects these steps.
        may_return: whether the search can reach a start again.
        """
        self.starts = counted.with_moved_columns(starts, forward=forward)
        self.reached = set() if may_return else set(self.starts)
        self.distance = 0
        self.used_other_generations = False
        self.possible_hits: list[Hit] = []
        self._graph = graph
        self._counted = counted
        self._edges = graph.outgoing if forward else graph.incoming
        self._forward, self._readers, self._follows_possible = forward, follow_readers, follow_possible
        self._allowed = allowed
        self._followed_live = counted.followed_edges(allowed, forward=forward)
        self._other_generations: dict[int, Sequence[int]] = {}
        self._moved_from: dict[int, int] = {}
        self._followed_hubs: set[int] = set()
        self._reached_as_struct: set[int] = set()
        self.frontier = [
            step[0] for step in self._sort_steps([(node, node, 0, 0, CERTAIN) for node in self.starts], None)
        ]

    @property
    def is_simple(self) -> bool:
        """Whether the search has ended and involved no nested columns, moved names or other generations."""
        dataset_of, active = self._graph.dataset_of, self._counted.nesting.nested_datasets
        return (
            not self.frontier
            and not self._counted.lifetimes.has_moves
            and not any(self._other_generations.values())
            and active.isdisjoint([dataset_of[node] for node in self.reached])
        )

    def advance(self, most: int | None = None) -> list[Hit]:
        """Go one edge further; return the new hits in order of (namespace, dataset, column).

        most: the maximum number of hits, None for no limit. Further hits are dropped, so the search does not continue
        from them.
        """
        steps = self._sort_steps(self._expand_frontier(), most)
        self.frontier = [step[0] for step in steps if step[4] != AS_STRUCT]
        return [
            Hit(node, self.distance, False, parent, transformation, number)
            for node, parent, transformation, number, kind in steps
            if kind != _REACHED_AGAIN
        ]

    def advance_unordered(self) -> list[int]:
        """Go one edge further, like `advance`; return only the new nodes, in any order."""
        found = self._expand_frontier()
        self.frontier = [step[0] for step in found if step[4] != AS_STRUCT]
        return [step[0] for step in found]

    def _expand_frontier(self) -> list[SearchStep]:
        """Return the steps from the frontier to the nodes that are one edge further."""
        self.distance += 1
        found: list[SearchStep] = []
        dataset_of, active, readers = self._graph.dataset_of, self._counted.nesting.nested_datasets, self._readers
        live, reached, choices = self._followed_live, self.reached, self._followed_live.choices
        for parent in self.frontier:
            dataset = dataset_of[parent]
            if dataset in active:
                self._follow_column(parent, parent, live, found)
            elif (
                edges := live.node_edges(parent)
            ) is not None:  # `_follow_node`, inlined because most columns are plain
                for far, group in number_pairs(edges.plain):
                    if far not in reached and (edge := choices[group]):
                        reached.add(far)
                        found.append((far, parent, edge[0], edge[1], CERTAIN))
                if edges.special:
                    found += self._follow_special(parent, parent, (parent, ""), live.special_edges(parent, edges))
            if readers and self._other_generations_of(dataset):
                self._follow_readers_of_other_generations(parent, found)
        return self._with_moved_steps(found) if self._counted.lifetimes.has_moves else found

    def with_chosen_edges(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Yield the hits with the edge from their parent that has the smallest rank.

        Without nested columns and moved names, the search has already chosen this edge. Otherwise, the search has taken
        the first edge that it found. Answers must not depend on the order in which edge sets were added.
        """
        if not self._counted.lifetimes.has_moves and not self._counted.nesting.nested_datasets:
            yield from hits
            return
        kept = list(hits)
        unsure = [hit for hit in kept if self._may_have_other_edge(hit)]
        nodes = {self._moved_from.get(hit.node, hit.node) for hit in unsure}
        best: dict[tuple[int, int], tuple[Rank, int, int]] = {}
        for parent in {hit.parent for hit in unsure}:
            edges = list(self._edges.edges(parent))
            if len({far for far, _, _ in edges}) < len(edges):  # in most cases, one edge leads to each column
                self._rank_edges(parent, [edge for edge in edges if edge[0] in nodes], best)
        for hit in kept:
            end = self._moved_from.get(hit.node, hit.node)
            _, transformation, number = best.get((hit.parent, end), (None, hit.transformation, hit.edge_set))
            changes = best and (transformation, number) != (hit.transformation, hit.edge_set)
            yield hit._replace(transformation=transformation, edge_set=number) if changes else hit

    def _may_have_other_edge(self, hit: Hit) -> bool:
        """Tell whether the search may have taken an edge that does not have the smallest rank."""
        dataset_of, active = self._graph.dataset_of, self._counted.nesting.nested_datasets
        return self._counted.lifetimes.has_moves or dataset_of[hit.node] in active or dataset_of[hit.parent] in active

    def _rank_edges(
        self, parent: int, edges: Iterable[tuple[int, int, int]], best: dict[tuple[int, int], tuple[Rank, int, int]]
    ) -> None:
        """Store the counted edge with the smallest rank from `parent` to each far node.

        edges: (far node, transformation, edge set) of the edges at `parent`.
        best: maps (parent, far node) to (rank, transformation, edge set). This method updates the mapping.
        """
        for far, transformation, number in edges:
            if self._counted.live_mask[number] and self._allowed[transformation]:
                edge = (self._counted.edge_order.rank(transformation, number), transformation, number)
                best[parent, far] = min(best.get((parent, far), edge), edge)

    def _sort_steps(self, steps: Iterable[SearchStep], most: int | None) -> list[SearchStep]:
        """Sort steps by dataset and column. Grouping by dataset first avoids comparing long names for each column.

        most: the maximum number of steps to return, None for all.
        """
        names, keys, dataset_of = self._graph.names, self._graph.column_keys, self._graph.dataset_of
        by_dataset: dict[int, list[SearchStep]] = {}
        for step in steps:
            by_dataset.setdefault(dataset_of[step[0]], []).append(step)
        ordered: list[SearchStep] = []
        for dataset in sorted(by_dataset, key=names.__getitem__):
            ordered += sorted(by_dataset[dataset], key=lambda step: keys[step[0]])
            if most is not None and len(ordered) >= most:
                return ordered[:most]
        return ordered

    def _follow_readers_of_other_generations(self, parent: int, found: list[SearchStep]) -> None:
        """Follow the edges of current readers from the same column in other generations of the dataset (rule 7.4)."""
        for other in self._other_generations_of(self._graph.dataset_of[parent]):
            before = len(found)
            for same in self._counted.nesting.counterparts(parent, other):
                self._follow_column(parent, same.node, self._followed_reading, found)
            self.used_other_generations = self.used_other_generations or len(found) > before

    @cached_property
    def _followed_reading(self) -> FollowedEdges:
        return self._counted.followed_edges(self._allowed, forward=self._forward, is_reading=True)

    def _with_moved_steps(self, found: Iterable[SearchStep]) -> list[SearchStep]:
        """Return the steps, and further steps to their counterparts at other locations of moved names (rule 10.11)."""
        lifetimes, nesting, every = self._counted.lifetimes, self._counted.nesting, self._sort_steps(found, None)
        for node, parent, transformation, number, kind in every:  # the loop appends to this list
            for dataset in lifetimes.moved_datasets(self._graph.dataset_of[node], forward=self._forward):
                for same in nesting.counterparts_after_move(node, dataset):
                    how = POSSIBLE if same.reach == POSSIBLE else AS_STRUCT if kind == AS_STRUCT else CERTAIN
                    for taken in self._mark_reached((same.node, parent, transformation, number, how)):
                        self._moved_from.setdefault(taken[0], self._moved_from.get(node, node))
                        every.append(taken)
        return every

    def _other_generations_of(self, dataset: int) -> Sequence[int]:
        found = self._other_generations.get(dataset)
        if found is None:
            found = self._other_generations[dataset] = self._counted.lifetimes.other_generations(dataset)
        return found

    def _follow_column(self, parent: int, at: int, edges: FollowedEdges, found: list[SearchStep]) -> None:
        """Follow the edges of the column `at` and of the structs around it, and append the steps to `found`.

        parent: the previous node to record in the steps.
        """
        self._follow_node(parent, at, (at, ""), edges, found)
        if self._graph.dataset_of[at] in self._counted.nesting.nested_datasets:
            for place in self._counted.nesting.nodes_around(at):
                self._follow_node(parent, at, place, edges, found)

    def _follow_node(
        self, parent: int, at: int, place: tuple[int, str], edges: FollowedEdges, found: list[SearchStep]
    ) -> None:
        """Follow the edges of a node for the column `at`, and append the steps to `found`.

        place: (node, rest). The node is the column itself or a struct around it. The rest is the path from the struct
        to the column, empty for the column itself.
        """
        followed = edges.node_edges(place[0])
        if followed is None:
            return
        reached, choices = self.reached, edges.choices
        for far, group in number_pairs(followed.plain):
            if far not in reached and (edge := choices[group]):
                reached.add(far)
                found.append((far, parent, edge[0], edge[1], CERTAIN))
        if followed.special:
            found += self._follow_special(parent, at, place, edges.special_edges(place[0], followed))

    def _follow_special(
        self, parent: int, at: int, place: tuple[int, str], special: Iterable[FarEdge]
    ) -> Iterator[SearchStep]:
        for edge in special:
            crosses = self._graph.dataset_of[edge[0]] < 0
            yield from self._follow_hub(parent, *edge) if crosses else self._follow_nested(parent, at, place, edge)

    def _follow_nested(
        self, parent: int, at: int, place: tuple[int, str], edge: tuple[int, int, int]
    ) -> Iterator[SearchStep]:
        """Follow an edge that starts or ends at a dataset with nested columns (rule 12).

        place: (node, rest), as for `_follow_node`. edge: (far node, transformation, edge set).
        """
        (node, rest), (far, transformation, number) = place, edge
        nesting, direct = self._counted.nesting, self._graph.transformations[transformation].is_direct
        ways: Iterable[StepTarget]
        if self._forward:
            onward = nesting.forward_targets_of_nested(at, node, rest, far, is_direct=direct) if rest else None
            ways = onward or nesting.forward_targets(node, far, is_direct=direct)
        else:
            back = nesting.backward_sources_of_nested(at, node, rest, far, is_direct=direct) if rest else None
            ways = back or nesting.backward_sources(node, far, is_direct=direct)
        for reach in ways:
            yield from self._mark_reached((reach.node, parent, transformation, number, reach.reach))

    def _mark_reached(self, step: SearchStep) -> Iterator[SearchStep]:
        """Mark the node of a step as reached, and yield the step unless the node was reached before.

        A node that was reached only as a struct around another column may be reached a second time.
        """
        node, parent, transformation, number, kind = step
        if node in self.reached:
            return
        if kind == AS_STRUCT:
            if node not in self._reached_as_struct:
                self._reached_as_struct.add(node)
                yield step
        elif kind == POSSIBLE and not self._follows_possible:
            self.possible_hits += (
                Hit(each, self.distance, False, parent, transformation, number)
                for each in self._counted.with_moved_columns((node,), forward=self._forward)
            )
        else:
            self.reached.add(node)
            yield (node, parent, transformation, number, _REACHED_AGAIN if node in self._reached_as_struct else CERTAIN)

    def _follow_hub(self, parent: int, middle: int, transformation: int, number: int) -> Iterator[SearchStep]:
        """Follow the edges of the hub `middle` of dataset-wide edges, without adding to the distance.

        The search passes through each hub only once.
        """
        if middle in self._followed_hubs:
            return
        self._followed_hubs.add(middle)
        active = self._counted.nesting.nested_datasets
        for far, onward, _ in self._edges.edges(middle):
            if not self._allowed[transformation or onward]:
                continue
            yield from self._mark_reached((far, parent, transformation or onward, number, CERTAIN))
            if self._graph.dataset_of[far] in active:
                for each in self._counted.nesting.nested_nodes(far).values():
                    yield from self._mark_reached((each, parent, transformation or onward, number, CERTAIN))
