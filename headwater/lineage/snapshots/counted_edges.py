"""Masks over edge sets, which determine the edges that count in a view. All views share the arrays of one graph."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from headwater.lineage.edges.nesting import Nesting
from headwater.lineage.snapshots.lifetimes import Lifetimes
from headwater.lineage.traversal.followed_edges import EdgeChoices, EdgeOrder, EdgeStore, FollowedEdges


@dataclass(frozen=True, eq=False)
class CountedEdges:
    """The edges of a graph that count in one view. The edges of an edge set count together.

    The attributes with the suffix `_mask` contain one byte for each edge set number. The byte is
    1 if the statement about the mask applies to the edge set.

    live_mask: the edge set counts.
    latest_mask: the edge set belongs to the newest execution of its job output, with or without column lineage (rule
    6.4).
    reading_mask: the edge set is live or latest if all generations of its output are treated as one dataset (rule 7.4).
    dropped_datasets: the numbers of dropped datasets. Walks follow edges through these datasets, but answers leave them
    out.
    store: caches the edges that walks follow, for all views of a snapshot.
    unlisted_columns: returns the keys of the columns of a dataset that only lineage names (rule 12.9).
    base_list_us: returns the time (us) of the base list of a dataset, None without a base list (rule 12.7).
    columns_named_since: returns the keys of the columns of a dataset that lineage names after a time (us).
    shows_dropped: whether answers include dropped datasets.
    attempted: the edge sets of runs that did not complete (rule 6.10).
    recent_mask: a run reported the edge set within the window (rule 6.8). Empty if only newest executions count.
    remaining_mask: the rows of the edge set were not replaced later (rule 6.9). Empty if only newest executions count.
    last_us: for each edge set, the time (us) at which a run last reported it. The time may be outdated for edge sets in
    `reading_mask`.
    newest_mask: the edge set belongs to a newest execution. Empty if earlier executions do not count.
    retired_edge_sets: the edge sets of retired jobs (rule 6.11). They are not in `live_mask`, `latest_mask` and
    `reading_mask`.
    find_presumed: returns the edge sets of jobs that are presumed retired (rule 6.12). These edge sets count.
    """

    live_mask: bytearray
    latest_mask: bytearray
    reading_mask: bytearray
    dropped_datasets: frozenset[int]
    lifetimes: Lifetimes
    nesting: Nesting
    store: EdgeStore
    unlisted_columns: Callable[[int], Sequence[str]]
    base_list_us: Callable[[int], int | None]
    columns_named_since: Callable[[int, int], Sequence[str]]
    shows_dropped: bool = False
    attempted: frozenset[int] = frozenset()
    recent_mask: bytes = b""
    remaining_mask: bytes = b""
    last_us: Sequence[int] = ()
    newest_mask: bytes = b""
    retired_edge_sets: frozenset[int] = frozenset()
    find_presumed: Callable[[], frozenset[int]] = frozenset

    @cached_property
    def presumed_retired(self) -> frozenset[int]:
        """The edge sets of jobs that are presumed retired (rule 6.12).

        Answers mark the items that only these edge sets report, and list the items last.
        """
        return self.find_presumed()

    @cached_property
    def without_presumed_retired(self) -> "CountedEdges":
        """This view without the jobs that are presumed retired."""
        return self.without_edge_sets(self.presumed_retired) if self.presumed_retired else self

    @property
    def may_include_earlier(self) -> bool:
        """Whether the view can include earlier executions."""
        return bool(self.recent_mask or self.remaining_mask)

    def without_earlier_masks(self) -> "CountedEdges":
        """Return this view without earlier executions."""
        return replace(self, recent_mask=b"", remaining_mask=b"")

    def with_earlier_uses(self) -> "CountedEdges":
        """Return this view for questions about use, which includes earlier executions within the window (rule 6.8)."""
        return self._with_earlier_uses

    @cached_property
    def _with_earlier_uses(self) -> "CountedEdges":
        attempted = self.attempted - self.retired_edge_sets
        used = self if attempted == self.attempted else replace(self, attempted=attempted)
        return used._add_to_masks(self.recent_mask, is_read=True)

    def with_earlier_writes(self) -> "CountedEdges":
        """Return this view for questions about rows, which includes earlier writes if their rows remain (rule 6.9)."""
        return self._with_earlier_writes

    @cached_property
    def _with_earlier_writes(self) -> "CountedEdges":
        return self._add_to_masks(self.remaining_mask, is_read=False)

    def with_earlier_uses_and_writes(self) -> "CountedEdges":
        """Return this view with the earlier executions that count for questions about use or about rows."""
        return self.with_earlier_uses()._add_to_masks(self.remaining_mask, is_read=False)

    def _add_to_masks(self, more: bytes, *, is_read: bool) -> "CountedEdges":
        if not more:
            return self
        reading = _union(self.reading_mask, more) if is_read else self.reading_mask
        newest = self.newest_mask or bytes(_union(_union(self.live_mask, self.latest_mask), self.reading_mask))
        return replace(
            self,
            live_mask=_union(self.live_mask, more),
            latest_mask=_union(self.latest_mask, more),
            reading_mask=reading,
            newest_mask=newest,
        )

    def differs_from(self, other: "CountedEdges") -> bool:
        """Tell whether this view and another view of the same graph count different edge sets, or in different ways."""
        masks = [(view.live_mask, view.latest_mask, view.reading_mask, view.attempted) for view in (self, other)]
        return masks[0] != masks[1]

    def newest_executions_only(self) -> "CountedEdges":
        """Return this view with only the edge sets that newest executions report."""
        return self._edges_of_newest

    @cached_property
    def _edges_of_newest(self) -> "CountedEdges":
        if not self.newest_mask:
            return self
        live, latest, reading = (
            bytearray(map(int.__and__, mask, self.newest_mask))
            for mask in (self.live_mask, self.latest_mask, self.reading_mask)
        )
        return replace(self, live_mask=live, latest_mask=latest, reading_mask=reading)

    def with_all_edge_sets(self) -> "CountedEdges":
        """Return a view in which every edge set counts and no dataset is dropped (`view=all`)."""
        live = bytearray(b"\1" * len(self.live_mask))
        for number in self.lifetimes.attempted:
            live[number] = 0
        return replace(
            self,
            live_mask=live,
            dropped_datasets=frozenset(),
            shows_dropped=True,
            recent_mask=b"",
            remaining_mask=b"",
            newest_mask=b"",
            find_presumed=frozenset,
        )

    def without_edge_sets(self, numbers: Iterable[int]) -> "CountedEdges":
        """Return this view without some edge sets."""
        masks = [
            bytearray(mask)
            for mask in (self.live_mask, self.latest_mask, self.reading_mask, self.recent_mask, self.remaining_mask)
        ]
        left_out = list(numbers)
        for number in left_out:
            for mask in filter(None, masks):
                mask[number] = 0
        live, latest, reading, recent, remaining = masks
        return replace(
            self,
            live_mask=live,
            latest_mask=latest,
            reading_mask=reading,
            recent_mask=bytes(recent),
            remaining_mask=bytes(remaining),
            attempted=self.attempted.difference(left_out),
        )

    def with_moved_columns(self, nodes: Collection[int], *, forward: bool) -> set[int]:
        """Return nodes and their counterparts at the locations to which names of their datasets moved (rule 10.11).

        forward: True for the locations after the moves, False for the locations before the moves.
        """
        found, todo = set(nodes), list(nodes) if self.lifetimes.has_moves else []
        while todo:
            node = todo.pop()
            for dataset in self.lifetimes.moved_datasets(self.nesting.dataset_of(node), forward=forward):
                more = {each.node for each in self.nesting.counterparts_after_move(node, dataset)} - found
                found |= more
                todo.extend(more)
        return found

    @cached_property
    def edge_order(self) -> EdgeOrder:
        """The order that decides which edge a walk follows if there are several edges between two columns."""
        return EdgeOrder(self.store.graph, self.newest_mask, self.last_us, self.presumed_retired)

    def followed_edges(self, allowed: bytes, *, forward: bool, is_reading: bool = False) -> FollowedEdges:
        """Return the edges that a walk follows.

        allowed: one byte for each transformation number, 1 if the walk may follow edges with this transformation.
        forward: True to follow edges from source to target, False for the opposite direction.
        is_reading: whether to follow the edge sets in `reading_mask` instead of those in `live_mask` (rule 7.4).
        """
        key, age = (allowed, forward, is_reading), self.store.begin_walk()
        found = self._followed_cache.get(key)
        if found is None or found.age != age:
            other = self._followed_cache.get((allowed, not forward, is_reading))  # both directions share their groups
            if other is not None and other.age == age:
                choices = other.choices
            else:
                choices = EdgeChoices(
                    self.store, self.edge_order, self.reading_mask if is_reading else self.live_mask, allowed
                )
            found = self._followed_cache[key] = FollowedEdges(self.store, self.edge_order, choices, forward=forward)
        return found

    @cached_property
    def _followed_cache(self) -> dict[tuple[bytes, bool, bool], FollowedEdges]:
        return {}

    @cached_property
    def unmentioned_columns(self) -> dict[int, tuple[str, ...]]:
        """A cache for the masking surface. Maps datasets to columns that no current writer accounts for (rule 8.2a)."""
        return {}

    def is_counted(self, number: int) -> bool:
        """Tell whether an edge set counts or belongs to the newest execution of its job and output."""
        return bool(self.live_mask[number] or self.latest_mask[number])


def _union(one: bytes | bytearray, other: bytes | bytearray) -> bytearray:
    """Return the union of two masks of equal length."""
    united = int.from_bytes(one, "little") | int.from_bytes(other, "little")
    return bytearray(united.to_bytes(len(one), "little"))
