"""The choices of a question about lineage: its time, view and origins."""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.lineage.edges.output_lineage import EDGE_ORIGINS, EdgeOrigin, edge_origin
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot, Window


class AsOf(NamedTuple):
    """The choices of a question about lineage. Times are in microseconds; None means no limit.

    as_of_us: the time that the question asks about.
    known_at_us: the time up to which received events are taken into account.
    seen_since_us: the time since which runs must have reported an edge.
    includes_outdated: whether to include lineage that no longer counts (`view=all`).
    origins: the origins that edges may have; edges with other origins are excluded.
    only_newest: whether to exclude earlier executions (`view=newest`).
    window_us: how long an execution counts as use after it ended (rule 6.8); None for the window of the user's rules.
    """

    as_of_us: int | None = None
    known_at_us: int | None = None
    seen_since_us: int | None = None
    includes_outdated: bool = False
    origins: frozenset[EdgeOrigin] = EDGE_ORIGINS
    only_newest: bool = False
    window_us: int | None = None

    def window(self, snapshot: Snapshot) -> Window:
        """Return the window in which executions count as use (rule 6.8)."""
        length_us = snapshot.default_window().length_us if self.window_us is None else self.window_us
        return Window(length_us, self.as_of_us)

    @property
    def is_derived(self) -> bool:
        """Whether the lineage must be derived from facts, because the index lacks it.

        The index contains only lineage that counts now, with the edges that are inferred from SQL.
        """
        return (
            self.as_of_us is not None
            or self.known_at_us is not None
            or self.includes_outdated
            or not self.includes_inferred
        )

    @property
    def includes_inferred(self) -> bool:
        """Whether the question includes lineage inferred from SQL. If False, runs count as if they had sent no SQL."""
        return "inferred" in self.origins

    def excluded_edge_sets(self, snapshot: Snapshot) -> Iterator[int]:
        """Yield the numbers of the edge sets with an origin that the question excludes."""
        return (
            number for number, lineage in snapshot.graph.edge_sets.items() if edge_origin(*lineage) not in self.origins
        )


class View(NamedTuple):
    """The snapshot, the edges that count, and the user's rules with which a question is answered."""

    snapshot: Snapshot
    counted_edges: CountedEdges
    rules: UserRules
