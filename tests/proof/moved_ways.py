"""What upstream would return if rows went from a new location of a name back to the old one, which they do not."""

from collections.abc import Sequence

from headwater.lineage.time.whole_rewrites import WINDOW_US
from headwater.lineage.walks.walk import Mode
from tests.proof.event_edits import folded_column
from tests.reference.generations import NEVER
from tests.reference.moves import with_moved
from tests.reference.questions import asked_columns, upstream_steps
from tests.reference.records import Delivered
from tests.reference.solver import Reference
from tests.reference.walks import reached_backwards
from tests.test_lineage_reference import canonical

Column = tuple[str, str, str | None]


def over_later_locations(events: Sequence[Delivered], column: Column, mode: Mode) -> set[Column]:
    """Return what reaches a column if its names may be left for later locations as well as for earlier ones.

    A reader of the old location does not read what was written to the new one later (rule 10.11). Before the move it
    was the same dataset, so that upstream returned what any writer wrote at any time.
    """
    lineage = Reference(events, canonical=canonical, window_us=WINDOW_US).of_rows()
    name = lineage.names.bound(*canonical(*column[:2]), NEVER)
    asked, nesting = asked_columns(lineage, *name, column[2] or "")
    starts, steps = upstream_steps(lineage, nesting, asked, mode)
    steps |= {step._replace(source=each) for step in steps for each in with_moved(lineage, {step.source})}
    found = reached_backwards(steps, with_moved(lineage, starts))
    return {(*node[:2], None if node[3] is None else folded_column(node[3])) for node in found}
