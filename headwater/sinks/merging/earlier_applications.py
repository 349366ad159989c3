"""Find Spark applications that are due with a batch; queries the lake each time, so a kill loses no state."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from headwater.common.errors import HeadwaterError
from headwater.events.position import Source
from headwater.lake.bronze_follower import (
    MemberHead,
    heads_of_families,
    parents_at,
    stored_bodies,
)
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.runs.run_facts import TERMINAL
from headwater.sinks.contract.error_isolation import MaskSecrets, log_unexpected_error
from headwater.sinks.contract.sink_shape import Payload, SinkEvent

LOOKBACK_US = 7 * 24 * 3600 * 1_000_000
"""Events received earlier are not read: reading the whole history for each batch would cost too much."""
MAX_APPLICATION_EVENTS = 2_000
"""Per application; beyond that only terminal events are read, which repeat earlier facets, first and last ones."""


class ApplicationEvents(NamedTuple):
    """The events of an application and its actions, in order; at: the event whose position its payload takes."""

    run_id: str
    events: list[SinkEvent]
    at: SinkEvent


class SendPolicy(NamedTuple):
    """When an application is due: at its end; staged: with every event; heartbeat_us: at most once per interval."""

    staged: bool
    heartbeat_us: int | None

    def is_due(self, members: Sequence[MemberHead], news: Collection[str], run_id: str) -> bool:
        """Return whether a batch makes the application due. news: ids of the batch's events."""
        fresh = [each.head.received_us for each in members if each.head.event_id in news]
        if self.heartbeat_us and fresh:
            old = [each.head.received_us for each in members if each.head.event_id not in news]
            return is_heartbeat_due(fresh, old, self.heartbeat_us)
        return bool(fresh) and (self.staged or has_ended(members, run_id))


def has_ended(members: Sequence[MemberHead], run_id: str) -> bool:
    """Return whether the application's own run has ended."""
    return any(each.head.run_id == run_id and each.head.state in TERMINAL for each in members)


def is_heartbeat_due(fresh_us: Sequence[int], old_us: Sequence[int], heartbeat_us: int) -> bool:
    """Return whether the newest event is in a later heartbeat interval than all earlier ones."""
    return not old_us or max(fresh_us) // heartbeat_us > max(old_us) // heartbeat_us


@runtime_checkable
class ConvertsApplications(Protocol):
    """A target that takes an application as one job; send_policy: None if it does not."""

    send_policy: SendPolicy | None

    def convert_application(self, application_events: ApplicationEvents) -> Payload | None:
        """Return the payload of an application, None if the events are not one; performs no I/O."""


def build_application_payloads(
    target: ConvertsApplications, bronze: Bronze, events: Sequence[SinkEvent], mask_secrets: MaskSecrets
) -> list[Payload]:
    """Return payloads of the applications that are due with a batch; reads one application at a time into memory."""
    if target.send_policy is None or not events:
        return []
    families = _due(bronze, events, target.send_policy)
    return [
        payload
        for application_events in families
        if (payload := application_payload(target, application_events, mask_secrets))
    ]


def application_payload(
    target: ConvertsApplications, application_events: ApplicationEvents, mask_secrets: MaskSecrets
) -> Payload | None:
    """Return the payload of an application, None if the events are not one; unfit if the conversion fails."""
    try:
        return target.convert_application(application_events)
    except HeadwaterError:
        raise
    except Exception as error:
        return Payload(application_events.at, b"", log_unexpected_error(error, "Converting", mask_secrets))


def _due(bronze: Bronze, events: Sequence[SinkEvent], send_policy: SendPolicy) -> Iterator[ApplicationEvents]:
    now_us = max(event.head.received_us for event in events)
    news = {event.head.event_id: event for event in events}
    asked = {event.head.run_id for event in events if event.head.run_id and event.head.state in TERMINAL}
    by_source: dict[Source, list[int]] = defaultdict(list)
    for event in events:
        by_source[event.source].append(event.head.sequence)
    asked |= set[str]().union(*(parents_at(bronze, source, of) for source, of in by_source.items()))
    for run_id, members in application_members(bronze, asked, now_us - LOOKBACK_US, now_us).items():
        if send_policy.is_due(members, news, run_id):
            own = [news[each.head.event_id] for each in members if each.head.event_id in news]
            yield ApplicationEvents(run_id, read_application(bronze, members), own[-1])


def application_members(bronze: Bronze, run_ids: set[str], since_us: int, until_us: int) -> dict[str, list[MemberHead]]:
    """Return the events of the applications that have actions, by run id."""
    families: dict[str, list[MemberHead]] = defaultdict(list)
    for each in heads_of_families(bronze, run_ids, since_us, until_us) if run_ids else ():
        for run_id in {each.head.run_id, each.parent_run_id} & run_ids:
            families[str(run_id)].append(each)
    return {
        run_id: members for run_id, members in families.items() if any(each.parent_run_id == run_id for each in members)
    }


def read_application(bronze: Bronze, members: Sequence[MemberHead]) -> list[SinkEvent]:
    """Return the events of an application with their bodies, in the given order."""
    half = MAX_APPLICATION_EVENTS // 2
    chosen = (
        members if len(members) <= MAX_APPLICATION_EVENTS else [each for each in members if each.head.state in TERMINAL]
    )
    return read_members(bronze, chosen if len(chosen) <= MAX_APPLICATION_EVENTS else [*chosen[:half], *chosen[-half:]])


def read_members(bronze: Bronze, members: Sequence[MemberHead]) -> list[SinkEvent]:
    """Return events with their bodies, in the given order."""
    places: Mapping[Source, list[int]] = defaultdict(list)
    for each in members:
        places[each.source].append(each.head.sequence)
    bodies = {source: stored_bodies(bronze, source, of) for source, of in places.items()}
    return [SinkEvent(each.source, each.head, bodies[each.source][each.head.sequence].encode()) for each in members]
