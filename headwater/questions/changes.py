"""The question `changes`: datasets, columns, types, owners, tags, jobs, SQL and code between two moments."""

from collections import Counter
from typing import NamedTuple

from headwater.common.errors import WrongQuestion
from headwater.common.paging import ListPage, RowOrder
from headwater.events.times import iso
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.runs.job_identity import run_id_of
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.list_answers import ChangedThing, ChangeItem, Changes, ChangeWord
from headwater.questions.change_cache import cached_changes
from headwater.questions.found_changes import Difference

_LONGEST = 2_000
"""Maximum number of characters of `before` and `after`."""


class ChangeFilter(NamedTuple):
    """A filter for the listed changes. Counts include all changes."""

    thing: ChangedThing | None = None
    change: ChangeWord | None = None

    def matches(self, found: Difference) -> bool:
        """Return whether a change matches the filter."""
        return self.thing in (None, found.thing) and self.change in (None, found.kind)


def changes_between(
    live: LiveGraph, since_us: int, until_us: int | None, only: ChangeFilter, page: ListPage
) -> Changes:
    """Answer the differences between two moments, newest first. until_us: None for now.

    Raises WrongQuestion if the first moment is not before the second.
    """
    between = (since_us, EVER_US if until_us is None else until_us)
    if between[0] >= between[1]:
        raise WrongQuestion(f"from ({iso(since_us)}) is not before to ({iso(until_us)}). Swap the two times.")
    key = ("changes", between)
    found = live.listed(key, lambda: cached_changes(live, between))
    counts = live.listed((*key, "counts"), lambda: sorted(Counter(each.thing for each in found).items()))
    sorted_rows = live.listed(
        (*key, only, page.sort, page.folded), lambda: _ORDER.sorted_rows(filter(only.matches, found), page)
    )
    cut = _ORDER.page_from_sorted(sorted_rows, page)
    items = [_item(live, each) for each in cut.rows]
    return Changes(iso(since_us) or "", iso(until_us), dict(counts), items, **cut.info)


_ORDER = RowOrder[Difference](
    "changes",
    {
        "time": lambda each: each.time_us, "change": lambda each: each.kind, "thing": lambda each: each.thing,
        "namespace": lambda each: each.name.namespace, "name": lambda each: each.name.name,
    },
    "-time",
    lambda each: (each.thing, *each.name.parts, each.column, each.before, each.after),
    ties=6,
    texts=lambda each: (*each.name.parts, each.column),
)  # fmt: skip


def _item(live: LiveGraph, found: Difference) -> ChangeItem:
    run = found.run()
    before, after = (None if text is None else text[:_LONGEST] for text in (found.before, found.after))
    return ChangeItem(
        found.kind, found.thing, found.of, *found.name.parts, found.column,
        before, after,
        iso(found.time_us) or "", run_id_of(run[0]) if run else None, Job(*live.job(run[1]).parts) if run else None,
    )  # fmt: skip
