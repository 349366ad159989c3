"""Upstream and surface answers as if rows also moved back from a new location of a name to the old one.

They do not (rule 10.11): a job that reads the old location does not read what another job writes to the new one. Before
the move, both locations were one dataset, so the answers included what any job wrote there at any time.
"""

from collections.abc import Sequence

from headwater.lineage.snapshots.whole_rewrites import WINDOW_US
from headwater.lineage.traversal.impact import Mode
from tests.lineage.test_reference import canonical
from tests.proof.event_edits import folded_column
from tests.reference import questions
from tests.reference.generations import NEVER, Dataset
from tests.reference.records import Delivered
from tests.reference.solver import Reference

Column = tuple[str, str, str | None]


class _BothWays(Reference):
    """The reference with names that also move back."""

    def moved_on(self, dataset: Dataset, *, forward: bool) -> set[Dataset]:
        del forward
        found, front = {dataset}, [dataset]
        for each in front:  # the loop appends to the list
            more = super().moved_on(each, forward=True) | super().moved_on(each, forward=False)
            front += sorted(more - found)
            found |= more
        return found - {dataset}


def upstream_both_ways(events: Sequence[Delivered], column: Column, mode: Mode) -> set[Column]:
    """Return the columns that reach a column."""
    lineage = _BothWays(events, canonical=canonical, window_us=WINDOW_US)
    name = lineage.names.bound(*canonical(*column[:2]), NEVER)
    return set(map(_folded, questions.upstream(lineage, *name, column[2] or "", mode)))


def surface_both_ways(events: Sequence[Delivered], tag: str) -> dict[Column, str]:
    """Return the exposure of the columns downstream of those with a tag."""
    lineage = _BothWays(events, canonical=canonical, window_us=WINDOW_US)
    found = questions.surface(lineage, questions.tagged(lineage, tag))
    return {_folded(column): exposure.replace("_", " ") for column, exposure in found.items()}


def _folded(column: questions.Column) -> Column:
    return (*column[:2], None if column[-1] is None else folded_column(column[-1]))
