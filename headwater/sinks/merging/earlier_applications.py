"""Spark applications of which it is time to tell: asked of the lake, so that nothing is kept that a kill could lose."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from headwater.errors import HeadwaterError
from headwater.events.position import Source
from headwater.lake.bronze_follower import MemberHead, heads_of_families, parent_runs, stored_bodies
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.runs.run_facts import TERMINAL
from headwater.sinks.contract.guarding import Hide, say_unforeseen
from headwater.sinks.contract.sink_shape import Payload, SinkEvent

LOOKS_BACK_US = 7 * 24 * 3600 * 1_000_000
"""Events of a run that came longer before are not looked for: reading all of history for each batch would cost more."""
MOST_EVENTS = 2_000
"""Of an application; of more the ends, which repeat what was said before, and of these the first and the last."""


class Family(NamedTuple):
    """The events of an application and of its actions, in order; at: the event of the batch that it is told with."""

    run_id: str
    events: list[SinkEvent]
    at: SinkEvent


class Waits:
    """When an application is told; not for several threads at once."""

    def __init__(self, *, idle_us: int, staged: bool, heartbeat_us: int | None) -> None:
        """staged: whenever it says something; heartbeat_us: then, once in so long; else when it ends or is idle."""
        self.idle_us = idle_us
        self._staged = staged
        self._heartbeat_us = heartbeat_us
        self._told_us: int | None = None

    def idle_since(self, now_us: int) -> tuple[int, int]:
        """Return between which moments (from, to] those fell silent that are idle now and were not when last asked."""
        until = now_us - self.idle_us
        since = until - LOOKS_BACK_US if self._told_us is None else min(self._told_us, until)
        self._told_us = until
        return max(0, since), max(0, until)

    def is_due(self, members: Sequence[MemberHead], news: set[str], idle: tuple[int, int], run_id: str) -> bool:
        """Tell whether it is time. news: ids of the batch's events."""
        fresh = [each.head.received_us for each in members if each.head.event_id in news]
        if self._heartbeat_us:
            old = [each.head.received_us for each in members if each.head.event_id not in news]
            return bool(fresh) and is_beat(fresh, old, self._heartbeat_us)
        if self._staged:
            return bool(fresh)
        if any(each.head.run_id == run_id and each.head.state in TERMINAL for each in members):
            return bool(fresh)
        return idle[0] < max(each.head.received_us for each in members) <= idle[1]


def is_beat(fresh_us: Sequence[int], old_us: Sequence[int], heartbeat_us: int) -> bool:
    """Tell whether the newest of some moments is in a later stretch of time than all before these."""
    return not old_us or max(fresh_us) // heartbeat_us > max(old_us) // heartbeat_us


@runtime_checkable
class TakesApplications(Protocol):
    """A target that takes an application as one; waits: None where it does not."""

    waits: Waits | None

    def convert_application(self, family: Family) -> Payload | None:
        """Return what is sent of an application, None where it is none; touches nothing outside."""


def payloads_of_applications(
    target: TakesApplications, bronze: Bronze, events: Sequence[SinkEvent], hide: Hide
) -> list[Payload]:
    """Return what is sent of the applications that are due with a batch, one after the other in memory."""
    if target.waits is None or not events:
        return []
    families = _due(bronze, events, target.waits)
    return [payload for family in families if (payload := _told(target, family, hide))]


def _told(target: TakesApplications, family: Family, hide: Hide) -> Payload | None:
    try:
        return target.convert_application(family)
    except HeadwaterError:
        raise
    except Exception as error:
        return Payload(family.at, b"", say_unforeseen(error, "Converting", hide))


def _due(bronze: Bronze, events: Sequence[SinkEvent], waits: Waits) -> Iterator[Family]:
    now_us = max(event.head.received_us for event in events)
    idle, news = waits.idle_since(now_us), {event.head.event_id: event for event in events}
    asked = {event.head.run_id for event in events if event.head.run_id and event.head.state in TERMINAL}
    by_source: dict[Source, list[int]] = defaultdict(list)
    for event in events:
        by_source[event.source].append(event.head.sequence)
    parents = set[str]().union(*(parent_runs(bronze, source, of, idle) for source, of in by_source.items()))
    if not asked | parents:
        return
    families: dict[str, list[MemberHead]] = defaultdict(list)
    for each in heads_of_families(bronze, asked | parents, now_us - LOOKS_BACK_US, now_us):
        for run_id in {each.head.run_id, each.parent_run_id} & (asked | parents):
            families[str(run_id)].append(each)
    for run_id, members in families.items():
        has_actions = any(each.parent_run_id == run_id for each in members)
        if has_actions and waits.is_due(members, {*news}, idle, run_id):
            own = [news[each.head.event_id] for each in members if each.head.event_id in news]
            yield Family(run_id, _read(bronze, members), (own or events)[-1])


def _read(bronze: Bronze, members: Sequence[MemberHead]) -> list[SinkEvent]:
    half = MOST_EVENTS // 2
    kept = members if len(members) <= MOST_EVENTS else [each for each in members if each.head.state in TERMINAL]
    kept = kept if len(kept) <= MOST_EVENTS else [*kept[:half], *kept[-half:]]
    places: Mapping[Source, list[int]] = defaultdict(list)
    for each in kept:
        places[each.source].append(each.head.sequence)
    bodies = {source: stored_bodies(bronze, source, of) for source, of in places.items()}
    return [SinkEvent(each.source, each.head, bodies[each.source][each.head.sequence].encode()) for each in kept]
