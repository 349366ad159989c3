"""The lineage that a question asks about: its time, view and origins."""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.lineage.edges.output_lineage import EDGE_ORIGINS, EdgeOrigin, edge_origin
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot, Window


class AsOf(NamedTuple):
    """The lineage that a question asks about; times in microseconds, None for no limit.

    every: include lineage that no longer counts (`view=all`); newest: leave out earlier executions (`view=newest`).
    origins: only edges of these origins.
    window_us: how long an execution counts as use after it ended (rule 6.8), None for the window of the rules.
    """

    as_of_us: int | None = None
    known_at_us: int | None = None
    seen_since_us: int | None = None
    every: bool = False
    origins: frozenset[EdgeOrigin] = EDGE_ORIGINS
    newest: bool = False
    window_us: int | None = None

    def window(self, snapshot: Snapshot) -> Window:
        """Return the window for questions about use."""
        length_us = snapshot.default_window().length_us if self.window_us is None else self.window_us
        return Window(length_us, self.as_of_us)

    @property
    def is_derived(self) -> bool:
        """Whether lineage must be derived from facts. The index contains only what counts now, with inferred edges."""
        return self.as_of_us is not None or self.known_at_us is not None or self.every or not self.includes_inferred

    @property
    def includes_inferred(self) -> bool:
        """Whether the question includes lineage inferred from SQL. Otherwise runs count as if they had sent no SQL."""
        return "inferred" in self.origins

    def excluded_edge_sets(self, snapshot: Snapshot) -> Iterator[int]:
        """Yield the edge sets of origins that the question excludes."""
        return (number for number, lineage in snapshot.graph.sets.items() if edge_origin(*lineage) not in self.origins)


class View(NamedTuple):
    """The lineage that a question sees."""

    snapshot: Snapshot
    counted: CountedEdges
    rules: UserRules
