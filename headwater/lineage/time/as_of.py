"""Which lineage a question looks at, and what it then sees."""

from typing import NamedTuple

from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.time.snapshot import Snapshot


class AsOf(NamedTuple):
    """What a question says of time; microseconds, None: no limit. every: also what counts no more (`view=all`)."""

    as_of_us: int | None = None
    known_at_us: int | None = None
    seen_since_us: int | None = None
    every: bool = False


class View(NamedTuple):
    """What a question sees."""

    snapshot: Snapshot
    counted: CountedEdges
    rules: UserRules
