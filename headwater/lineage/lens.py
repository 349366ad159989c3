"""Which lineage a question looks at, and what it then sees."""

from typing import NamedTuple

from headwater.lineage.snapshot import Snapshot
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View


class Lens(NamedTuple):
    """What a question says of time; microseconds, None: no limit. every: also what counts no more (`view=all`)."""

    as_of_us: int | None = None
    known_at_us: int | None = None
    seen_since_us: int | None = None
    every: bool = False


class Sight(NamedTuple):
    """What a question sees."""

    moment: Snapshot
    view: View
    rules: UserRules
