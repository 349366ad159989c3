"""What of a graph counts: masks over edge sets, so that every view walks the same arrays."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from headwater.lineage.edges.nesting import Nesting
from headwater.lineage.time.lifetimes import Lifetimes
from headwater.lineage.walks.followed_edges import Choices, EdgeOrder, EdgeStore, FollowedEdges


@dataclass(frozen=True, eq=False)
class CountedEdges:
    """What of a graph counts.

    live: by edge set, 1 where it counts; latest: 1 where it is the newest of its job output, whatever it carries;
    reading: 1 where it is either for its job and output over all generations together.
    attempted: edge sets of runs that did not complete, which prove nothing and leave open what they read and write.
    hidden: datasets that are gone, which walks go through and answers leave out; shows_gone: none is left out.
    recent: 1 for each edge set that a run said within the window; remaining: 1 where the rows are still there, because
    no whole rewrite began after the last of its runs had ended. Both are empty where only newest executions count.
    last_us: by edge set, when a run last said it; up to date for those that are not `reading`.
    newest: what newest executions say, where earlier ones count, too; else empty.
    retired: edge sets of jobs that are retired (rule 6.11), which `live`, `latest` and `reading` leave out.
    presume: returns those of jobs that are presumed retired (rule 6.12), which count.
    store: keeps what walks follow, for all views of a snapshot.
    unlisted: returns the keys of the columns of a dataset that only lineage names (rule 12.9).
    base_us: returns the time of the base list of a dataset, None without one (rule 12.7).
    named_since: returns the keys of the columns of a dataset that lineage names after a time (us).
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
    shows_gone: bool = False
    attempted: frozenset[int] = frozenset()
    recent: bytes = b""
    remaining: bytes = b""
    last_us: Sequence[int] = ()
    newest: bytes = b""
    retired: frozenset[int] = frozenset()
    presume: Callable[[], frozenset[int]] = frozenset

    @cached_property
    def presumed(self) -> frozenset[int]:
        """The edge sets of jobs that are presumed retired; answers return what only these say last, and mark it."""
        return self.presume()

    @cached_property
    def without_presumed(self) -> "CountedEdges":
        """This view without the jobs that are presumed retired."""
        return self.without(self.presumed) if self.presumed else self

    @property
    def has_earlier(self) -> bool:
        """Whether earlier executions are asked for, too."""
        return bool(self.recent or self.remaining)

    def only_newest(self) -> "CountedEdges":
        """Return this view without earlier executions."""
        return replace(self, recent=b"", remaining=b"")

    def of_use(self) -> "CountedEdges":
        """Return what counts for questions about use: earlier executions within the window, too."""
        return self._use

    @cached_property
    def _use(self) -> "CountedEdges":
        attempted = self.attempted - self.retired
        used = self if attempted == self.attempted else replace(self, attempted=attempted)
        return used._with(self.recent, is_read=True)

    def of_rows(self) -> "CountedEdges":
        """Return what counts for questions about rows: earlier writes that no whole rewrite has replaced, too."""
        return self._rows

    @cached_property
    def _rows(self) -> "CountedEdges":
        return self._with(self.remaining, is_read=False)

    def of_any(self) -> "CountedEdges":
        """Return what counts for either kind of question."""
        return self.of_use()._with(self.remaining, is_read=False)

    def _with(self, more: bytes, *, is_read: bool) -> "CountedEdges":
        if not more:
            return self
        reading = _either(self.reading, more) if is_read else self.reading
        newest = self.newest or bytes(_either(_either(self.live, self.latest), self.reading))
        return replace(
            self, live=_either(self.live, more), latest=_either(self.latest, more), reading=reading, newest=newest
        )

    def differs_from(self, other: "CountedEdges") -> bool:
        """Tell whether another edge set counts, or one counts in another way, than in another view of the graph."""
        masks = [(view.live, view.latest, view.reading, view.attempted) for view in (self, other)]
        return masks[0] != masks[1]

    def without_earlier(self) -> "CountedEdges":
        """Return what of this newest executions say."""
        return self._newest_only

    @cached_property
    def _newest_only(self) -> "CountedEdges":
        if not self.newest:
            return self
        live, latest, reading = (
            bytearray(map(int.__and__, mask, self.newest)) for mask in (self.live, self.latest, self.reading)
        )
        return replace(self, live=live, latest=latest, reading=reading)

    def everything(self) -> "CountedEdges":
        """Return a view of every edge set of the graph, in which nothing is gone, `view=all`."""
        live = bytearray(b"\1" * len(self.live))
        for number in self.lifetimes.attempted:
            live[number] = 0
        return replace(
            self,
            live=live,
            hidden=frozenset(),
            shows_gone=True,
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
        """Return columns with those that hold their values after (or before) a name moved (rule 10.11)."""
        found, todo = set(nodes), list(nodes) if self.lifetimes.has_moves else []
        while todo:
            node = todo.pop()
            for dataset in self.lifetimes.moved_on(self.nesting.dataset_of(node), forward=forward):
                more = {each.node for each in self.nesting.moved(node, dataset)} - found
                found |= more
                todo.extend(more)
        return found

    @cached_property
    def order(self) -> EdgeOrder:
        """Which of several edges is chosen."""
        return EdgeOrder(self.store.graph, self.newest, self.last_us, self.presumed)

    def followed(self, allowed: bytes, *, forward: bool, is_reading: bool = False) -> FollowedEdges:
        """Return the edges that a walk follows.

        allowed: by transformation, 1 where it may go; is_reading: those that current readers in any generation say.
        """
        key, age = (allowed, forward, is_reading), self.store.begin()
        found = self._followed.get(key)
        if found is None or found.age != age:
            other = self._followed.get((allowed, not forward, is_reading))  # both directions have the same groups
            if other is not None and other.age == age:
                choices = other.choices
            else:
                choices = Choices(self.store, self.order, self.reading if is_reading else self.live, allowed)
            found = self._followed[key] = FollowedEdges(self.store, self.order, choices, forward=forward)
        return found

    @cached_property
    def _followed(self) -> dict[tuple[bytes, bool, bool], FollowedEdges]:
        return {}

    @cached_property
    def unmentioned(self) -> dict[int, tuple[str, ...]]:
        """By dataset, the columns that no current writer accounts for, as far as the surface has asked for them."""
        return {}

    def says(self, number: int) -> bool:
        """Tell whether an edge set counts, if only as the newest about its output."""
        return bool(self.live[number] or self.latest[number])


def _either(one: bytes | bytearray, other: bytes | bytearray) -> bytearray:
    """Return 1 where one of two masks of equal length is."""
    united = int.from_bytes(one, "little") | int.from_bytes(other, "little")
    return bytearray(united.to_bytes(len(one), "little"))
