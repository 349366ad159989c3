"""What changed beside lineage: datasets, columns and their types, owners, tags, jobs, their SQL and their code."""

from collections import Counter
from typing import NamedTuple

from headwater.errors import WrongQuestion
from headwater.events.times import iso
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.runs.job_identity import run_id_of
from headwater.paging import ListPage, RowOrder
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.list_answers import ChangedThing, ChangeItem, Changes, ChangeWord
from headwater.questions.found_changes import Difference
from headwater.questions.known_changes import known_changes

_LONGEST = 2_000
"""Characters that are shown of what something was and is."""


class OnlyChanges(NamedTuple):
    """What alone is listed of it; everything is counted."""

    thing: ChangedThing | None = None
    change: ChangeWord | None = None

    def fits(self, found: Difference) -> bool:
        """Tell whether a change is wanted."""
        return self.thing in (None, found.thing) and self.change in (None, found.word)


def changes_between(live: LiveGraph, since_us: int, until_us: int | None, only: OnlyChanges, page: ListPage) -> Changes:
    """Answer what is other at one moment than at another, newest first; None: now.

    Raises WrongQuestion where the first is not before the second.
    """
    between = (since_us, EVER_US if until_us is None else until_us)
    if between[0] >= between[1]:
        raise WrongQuestion(f"from ({iso(since_us)}) is not before to ({iso(until_us)}). Ask the other way round.")
    key = ("changes", between)
    found = live.listed(key, lambda: known_changes(live, between))
    counts = live.listed((*key, "counts"), lambda: sorted(Counter(each.thing for each in found).items()))
    placed = live.listed((*key, only, page.sort, page.folded), lambda: _ORDER.placed(filter(only.fits, found), page))
    cut = _ORDER.page_of(placed, page)
    items = [_item(live, each) for each in cut.rows]
    return Changes(iso(since_us) or "", iso(until_us), dict(counts), items, **cut.told)


_ORDER = RowOrder[Difference](
    "changes",
    {
        "time": lambda each: each.time_us, "change": lambda each: each.word, "thing": lambda each: each.thing,
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
        found.word, found.thing, found.of, *found.name.parts, found.column,
        before, after,
        iso(found.time_us) or "", run_id_of(run[0]) if run else None, Job(*live.job(run[1]).parts) if run else None,
    )  # fmt: skip
