"""Which lineage a question looks at, and what it then sees."""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.lineage.edges.origins import ORIGINS, Origin, origin_of
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.time.snapshot import Snapshot, Window


class AsOf(NamedTuple):
    """Which lineage a question means; microseconds, None: no limit.

    every: also what counts no more (`view=all`); newest: no earlier executions (`view=newest`); origins: only edges of
    these; window_us: how long an execution counts as use after it ended, None: as the rules say.
    """

    as_of_us: int | None = None
    known_at_us: int | None = None
    seen_since_us: int | None = None
    every: bool = False
    origins: frozenset[Origin] = ORIGINS
    newest: bool = False
    window_us: int | None = None

    def window(self, snapshot: Snapshot) -> Window:
        """Return the window of questions about use."""
        length_us = snapshot.usual_window().length_us if self.window_us is None else self.window_us
        return Window(length_us, self.as_of_us)

    @property
    def is_derived(self) -> bool:
        """Tell whether lineage must be derived for it: the index holds what counts now, with what SQL says."""
        return self.as_of_us is not None or self.known_at_us is not None or self.every or not self.infers

    @property
    def infers(self) -> bool:
        """Tell whether what follows from SQL is meant; without it a run is as opaque as if it had sent none."""
        return "inferred" in self.origins

    def other_origins(self, snapshot: Snapshot) -> Iterator[int]:
        """Yield the edge sets of origins that are not meant."""
        return (number for number, said in snapshot.graph.sets.items() if origin_of(*said) not in self.origins)


class View(NamedTuple):
    """What a question sees."""

    snapshot: Snapshot
    counted: CountedEdges
    rules: UserRules
