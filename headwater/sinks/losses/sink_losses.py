"""What a target cannot hold of events: what the lake has of them, against what the target declares; pure."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from headwater.sinks.contract.sink_holdings import Holdings, holding_of
from headwater.sinks.contract.sink_shape import SinkEvent, by_run
from headwater.sinks.losses.sink_things import ToldThing, things_of


class Loss(NamedTuple):
    """Things that a target does not hold, or not whole: how many, in how many runs and declarations; seen or not."""

    part: str
    name: str
    held: str
    things: int
    runs: int
    why: str


def losses_of(events: Sequence[SinkEvent], holdings: Holdings) -> list[Loss]:
    """Return what is lost of events, the most frequent first, then what would be lost and did not occur."""
    things: Counter[tuple[str, str]] = Counter()
    runs: Counter[tuple[str, str]] = Counter()
    for of_one in by_run(events, {}):
        found = Counter((thing.part, thing.name) for thing in _not_sent(of_one, holdings) or things_of(of_one))
        things.update(found)
        runs.update(found.keys())
    met = {key: holding_of(holdings, *key) for key in things}
    lost = [
        Loss(*key, holding.held, things[key], runs[key], holding.why)
        for key, holding in met.items()
        if holding.held != "whole"
    ]
    unmet = [each for each in holdings if each.held != "whole" and each not in met.values()]
    return [
        *sorted(lost, key=lambda each: (-each.runs, each.part, each.name)),
        *(Loss(each.part, each.names, each.held, 0, 0, each.why) for each in unmet),
    ]


def _not_sent(events: Sequence[SinkEvent], holdings: Holdings) -> set[ToldThing]:
    """Return an event of which nothing is sent at all; what it says then goes without saying."""
    kind = events[-1].head.kind
    return {ToldThing("event", kind)} if holding_of(holdings, "event", kind).held == "not" else set()
