"""Spark applications of which it is time to tell: asked of the lake, so that nothing is kept that a kill could lose."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from headwater.errors import HeadwaterError
from headwater.events.position import Source
from headwater.lake.bronze_follower import (
    MemberHead,
    heads_of_families,
    parents_at,
    stored_bodies,
)
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.runs.run_facts import TERMINAL
from headwater.sinks.contract.guarding import Hide, say_unforeseen
from headwater.sinks.contract.sink_shape import Payload, SinkEvent

LOOKS_BACK_US = 7 * 24 * 3600 * 1_000_000
"""Events of a run that came longer before are not looked for: reading all of history for each batch would cost more."""
MOST_EVENTS = 2_000
"""Of an application; of more the ends, which repeat what was said before, and of these the first and the last."""


class Family(NamedTuple):
    """The events of an application and of its actions, in order; at: the event that it is told with."""

    run_id: str
    events: list[SinkEvent]
    at: SinkEvent


class Waits(NamedTuple):
    """When an application is told: when it ends; staged: whenever it says something; heartbeat_us: once in so long."""

    staged: bool
    heartbeat_us: int | None

    def is_due(self, members: Sequence[MemberHead], news: Collection[str], run_id: str) -> bool:
        """Tell whether it is time with a batch. news: ids of its events."""
        fresh = [each.head.received_us for each in members if each.head.event_id in news]
        if self.heartbeat_us and fresh:
            old = [each.head.received_us for each in members if each.head.event_id not in news]
            return is_beat(fresh, old, self.heartbeat_us)
        return bool(fresh) and (self.staged or has_ended(members, run_id))


def has_ended(members: Sequence[MemberHead], run_id: str) -> bool:
    """Tell whether an application's own run has."""
    return any(each.head.run_id == run_id and each.head.state in TERMINAL for each in members)


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
    return [payload for family in families if (payload := told_application(target, family, hide))]


def told_application(target: TakesApplications, family: Family, hide: Hide) -> Payload | None:
    """Return what is sent of an application, None where it is none; where its conversion fails it is unfit."""
    try:
        return target.convert_application(family)
    except HeadwaterError:
        raise
    except Exception as error:
        return Payload(family.at, b"", say_unforeseen(error, "Converting", hide))


def _due(bronze: Bronze, events: Sequence[SinkEvent], waits: Waits) -> Iterator[Family]:
    now_us = max(event.head.received_us for event in events)
    news = {event.head.event_id: event for event in events}
    asked = {event.head.run_id for event in events if event.head.run_id and event.head.state in TERMINAL}
    by_source: dict[Source, list[int]] = defaultdict(list)
    for event in events:
        by_source[event.source].append(event.head.sequence)
    asked |= set[str]().union(*(parents_at(bronze, source, of) for source, of in by_source.items()))
    for run_id, members in application_members(bronze, asked, now_us - LOOKS_BACK_US, now_us).items():
        if waits.is_due(members, news, run_id):
            own = [news[each.head.event_id] for each in members if each.head.event_id in news]
            yield Family(run_id, read_application(bronze, members), own[-1])


def application_members(bronze: Bronze, run_ids: set[str], since_us: int, until_us: int) -> dict[str, list[MemberHead]]:
    """Return the events of applications that have actions, by run."""
    families: dict[str, list[MemberHead]] = defaultdict(list)
    for each in heads_of_families(bronze, run_ids, since_us, until_us) if run_ids else ():
        for run_id in {each.head.run_id, each.parent_run_id} & run_ids:
            families[str(run_id)].append(each)
    return {
        run_id: members for run_id, members in families.items() if any(each.parent_run_id == run_id for each in members)
    }


def read_application(bronze: Bronze, members: Sequence[MemberHead]) -> list[SinkEvent]:
    """Return the events of an application with their bodies, in the order given."""
    half = MOST_EVENTS // 2
    kept = members if len(members) <= MOST_EVENTS else [each for each in members if each.head.state in TERMINAL]
    return read_members(bronze, kept if len(kept) <= MOST_EVENTS else [*kept[:half], *kept[-half:]])


def read_members(bronze: Bronze, members: Sequence[MemberHead]) -> list[SinkEvent]:
    """Return events with their bodies, in the order given."""
    places: Mapping[Source, list[int]] = defaultdict(list)
    for each in members:
        places[each.source].append(each.head.sequence)
    bodies = {source: stored_bodies(bronze, source, of) for source, of in places.items()}
    return [SinkEvent(each.source, each.head, bodies[each.source][each.head.sequence].encode()) for each in members]
