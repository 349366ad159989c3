"""Compare the items of events with what a target can represent; pure functions."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from headwater.sinks.contract.item_support import SupportTable, support_for
from headwater.sinks.contract.sink_shape import SinkEvent, group_by_run
from headwater.sinks.losses.reported_items import ReportedItem, reported_items


class Loss(NamedTuple):
    """Items that a target does not represent, or only in part: number of items, and of runs and declarations."""

    part: str
    name: str
    held: str
    things: int
    runs: int
    why: str


def losses_of(events: Sequence[SinkEvent], support_table: SupportTable) -> list[Loss]:
    """Return the losses, most frequent first, followed by possible losses that did not occur in these events."""
    things: Counter[tuple[str, str]] = Counter()
    runs: Counter[tuple[str, str]] = Counter()
    for of_one in group_by_run(events, {}):
        found = Counter(
            (thing.part, thing.name) for thing in _not_sent(of_one, support_table) or reported_items(of_one)
        )
        things.update(found)
        runs.update(found.keys())
    met = {key: support_for(support_table, *key) for key in things}
    lost = [
        Loss(*key, holding.held, things[key], runs[key], holding.why)
        for key, holding in met.items()
        if holding.held != "whole"
    ]
    unmet = [each for each in support_table if each.held != "whole" and each not in met.values()]
    return [
        *sorted(lost, key=lambda each: (-each.runs, each.part, each.name)),
        *(Loss(each.part, each.names, each.held, 0, 0, each.why) for each in unmet),
    ]


def _not_sent(events: Sequence[SinkEvent], support_table: SupportTable) -> set[ReportedItem]:
    """Return the event itself if the target ignores its kind; its content then needs no entries."""
    kind = events[-1].head.kind
    return {ReportedItem("event", kind)} if support_for(support_table, "event", kind).held == "not" else set()
