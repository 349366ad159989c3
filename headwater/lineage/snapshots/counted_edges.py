"""Masks over edge sets, which determine the edges that count in a view. All views share the arrays of one graph."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from headwater.lineage.edges.nesting import Nesting
from headwater.lineage.snapshots.lifetimes import Lifetimes
from headwater.lineage.traversal.followed_edges import Choices, EdgeOrder, EdgeStore, FollowedEdges


@dataclass(frozen=True, eq=False)
class CountedEdges:
    """The edges of a graph that count in one view. The edges of an edge set count together.

    The masks live, latest, reading, recent, remaining and newest contain one byte for each edge set number. The byte is
    1 if the statement about the mask applies to the edge set.

    live: the edge set counts.
    latest: the edge set belongs to the newest execution of its job output, with or without column lineage (rule 6.4).
    reading: the edge set is live or latest if all generations of its output are treated as one dataset (rule 7.4).
    hidden: the numbers of dropped datasets. Walks follow edges through these datasets, but answers leave them out.
    store: caches the edges that walks follow, for all views of a snapshot.
    unlisted: returns the keys of the columns of a dataset that only lineage names (rule 12.9).
    base_us: returns the time (us) of the base list of a dataset, None without a base list (rule 12.7).
    named_since: returns the keys of the columns of a dataset that lineage names after a time (us).
    shows_dropped: whether answers include dropped datasets.
    attempted: the edge sets of runs that did not complete (rule 6.10).
    recent: a run reported the edge set within the window (rule 6.8). Empty if only newest executions count.
    remaining: the rows of the edge set were not replaced later (rule 6.9). Empty if only newest executions count.
    last_us: for each edge set, the time (us) at which a run last reported it. The time may be outdated for edge sets in
    `reading`.
    newest: the edge set belongs to a newest execution. Empty if earlier executions do not count.
    retired: the edge sets of retired jobs (rule 6.11). They are not in `live`, `latest` and `reading`.
    presume: returns the edge sets of jobs that are presumed retired (rule 6.12). These edge sets count.
    """

    live: bytearray
    latest: bytearray
    reading: bytearray
    hidden: frozenset[int]
    lifetimes: Lifetimes
    nesting: Nesting
    store: EdgeStore
    unlisted: Callable[[int], Sequence[str]]
    base_us: Callable[[int], int | None]
    named_since: Callable[[int, int], Sequence[str]]
    shows_dropped: bool = False
    attempted: frozenset[int] = frozenset()
    recent: bytes = b""
    remaining: bytes = b""
    last_us: Sequence[int] = ()
    newest: bytes = b""
    retired: frozenset[int] = frozenset()
    presume: Callable[[], frozenset[int]] = frozenset

    @cached_property
    def presumed(self) -> frozenset[int]:
        """The edge sets of jobs that are presumed retired (rule 6.12).

        Answers mark the items that only these edge sets report, and list the items last.
        """
        return self.presume()

    @cached_property
    def without_presumed(self) -> "CountedEdges":
        """This view without the jobs that are presumed retired."""
        return self.without(self.presumed) if self.presumed else self

    @property
    def has_earlier(self) -> bool:
        """Whether the view can include earlier executions."""
        return bool(self.recent or self.remaining)

    def only_newest(self) -> "CountedEdges":
        """Return this view without earlier executions."""
        return replace(self, recent=b"", remaining=b"")

    def of_use(self) -> "CountedEdges":
        """Return this view for questions about use, which includes earlier executions within the window (rule 6.8)."""
        return self._edges_for_use

    @cached_property
    def _edges_for_use(self) -> "CountedEdges":
        attempted = self.attempted - self.retired
        used = self if attempted == self.attempted else replace(self, attempted=attempted)
        return used._add_to_masks(self.recent, is_read=True)

    def of_rows(self) -> "CountedEdges":
        """Return this view for questions about rows, which includes earlier writes if their rows remain (rule 6.9)."""
        return self._edges_for_rows

    @cached_property
    def _edges_for_rows(self) -> "CountedEdges":
        return self._add_to_masks(self.remaining, is_read=False)

    def of_any(self) -> "CountedEdges":
        """Return this view with the earlier executions that count for questions about use or about rows."""
        return self.of_use()._add_to_masks(self.remaining, is_read=False)

    def _add_to_masks(self, more: bytes, *, is_read: bool) -> "CountedEdges":
        if not more:
            return self
        reading = _union(self.reading, more) if is_read else self.reading
        newest = self.newest or bytes(_union(_union(self.live, self.latest), self.reading))
        return replace(
            self, live=_union(self.live, more), latest=_union(self.latest, more), reading=reading, newest=newest
        )

    def differs_from(self, other: "CountedEdges") -> bool:
        """Tell whether this view and another view of the same graph count different edge sets, or in different ways."""
        masks = [(view.live, view.latest, view.reading, view.attempted) for view in (self, other)]
        return masks[0] != masks[1]

    def without_earlier(self) -> "CountedEdges":
        """Return this view with only the edge sets that newest executions report."""
        return self._edges_of_newest

    @cached_property
    def _edges_of_newest(self) -> "CountedEdges":
        if not self.newest:
            return self
        live, latest, reading = (
            bytearray(map(int.__and__, mask, self.newest)) for mask in (self.live, self.latest, self.reading)
        )
        return replace(self, live=live, latest=latest, reading=reading)

    def everything(self) -> "CountedEdges":
        """Return a view in which every edge set counts and no dataset is dropped (`view=all`)."""
        live = bytearray(b"\1" * len(self.live))
        for number in self.lifetimes.attempted:
            live[number] = 0
        return replace(
            self,
            live=live,
            hidden=frozenset(),
            shows_dropped=True,
            recent=b"",
            remaining=b"",
            newest=b"",
            presume=frozenset,
        )

    def without(self, numbers: Iterable[int]) -> "CountedEdges":
        """Return this view without some edge sets."""
        masks = [bytearray(mask) for mask in (self.live, self.latest, self.reading, self.recent, self.remaining)]
        left_out = list(numbers)
        for number in left_out:
            for mask in filter(None, masks):
                mask[number] = 0
        live, latest, reading, recent, remaining = masks
        return replace(
            self,
            live=live,
            latest=latest,
            reading=reading,
            recent=bytes(recent),
            remaining=bytes(remaining),
            attempted=self.attempted.difference(left_out),
        )

    def moved_on(self, nodes: Collection[int], *, forward: bool) -> set[int]:
        """Return nodes and their counterparts at the locations to which names of their datasets moved (rule 10.11).

        forward: True for the locations after the moves, False for the locations before the moves.
        """
        found, todo = set(nodes), list(nodes) if self.lifetimes.has_moves else []
        while todo:
            node = todo.pop()
            for dataset in self.lifetimes.moved_on(self.nesting.dataset_of(node), forward=forward):
                more = {each.node for each in self.nesting.counterparts_at_location(node, dataset)} - found
                found |= more
                todo.extend(more)
        return found

    @cached_property
    def order(self) -> EdgeOrder:
        """The order that decides which edge a walk follows if there are several edges between two columns."""
        return EdgeOrder(self.store.graph, self.newest, self.last_us, self.presumed)

    def followed(self, allowed: bytes, *, forward: bool, is_reading: bool = False) -> FollowedEdges:
        """Return the edges that a walk follows.

        allowed: one byte for each transformation number, 1 if the walk may follow edges with this transformation.
        forward: True to follow edges from source to target, False for the opposite direction.
        is_reading: whether to follow the edge sets in `reading` instead of those in `live` (rule 7.4).
        """
        key, age = (allowed, forward, is_reading), self.store.begin()
        found = self._followed_cache.get(key)
        if found is None or found.age != age:
            other = self._followed_cache.get((allowed, not forward, is_reading))  # both directions share their groups
            if other is not None and other.age == age:
                choices = other.choices
            else:
                choices = Choices(self.store, self.order, self.reading if is_reading else self.live, allowed)
            found = self._followed_cache[key] = FollowedEdges(self.store, self.order, choices, forward=forward)
        return found

    @cached_property
    def _followed_cache(self) -> dict[tuple[bytes, bool, bool], FollowedEdges]:
        return {}

    @cached_property
    def unmentioned(self) -> dict[int, tuple[str, ...]]:
        """A cache for the masking surface. Maps datasets to columns that no current writer accounts for (rule 8.2a)."""
        return {}

    def says(self, number: int) -> bool:
        """Tell whether an edge set counts or belongs to the newest execution of its job and output."""
        return bool(self.live[number] or self.latest[number])


def _union(one: bytes | bytearray, other: bytes | bytearray) -> bytearray:
    """Return the union of two masks of equal length."""
    united = int.from_bytes(one, "little") | int.from_bytes(other, "little")
    return bytearray(united.to_bytes(len(one), "little"))
