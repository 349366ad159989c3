"""Find the Spark applications that a batch makes due, and merge their runs (D9 in docs/reference/sinks.md).

Each batch queries the lake and keeps no state, so nothing is lost if the process is killed.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from msgspec import Raw

from headwater.common.errors import HeadwaterError
from headwater.events.position import Source
from headwater.events.rule_facets import text_at
from headwater.lake.bronze_follower import (
    MemberHead,
    heads_of_runs_and_children,
    parent_ids_at_sequences,
    stored_bodies,
)
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import TERMINAL_TYPES
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.interface.error_isolation import MaskSecrets, log_unexpected_error
from headwater.sinks.interface.shape import Payload, SinkEvent
from headwater.sinks.merging.runs import MergedEvent, facet_members, merge_facets

LOOKBACK_US = 7 * 24 * 3600 * 1_000_000
"""Events received longer before a batch are not read, because reading the whole history would cost too much."""
MAX_APPLICATION_EVENTS = 2_000
"""Maximum number of events of one application.

If there are more, only terminal events are read, because they repeat earlier facets. If these are still too many, the
first and the last ones are read.
"""
_INTEGRATION = re.compile(r"https://github\.com/OpenLineage/OpenLineage/.*/([^/]+)/?")


class ApplicationEvents(NamedTuple):
    """The events of an application and its actions, in order. at: the event that gives the payload its position."""

    run_id: str
    events: list[SinkEvent]
    at: SinkEvent


class SendPolicy(NamedTuple):
    """When an application is due. By default, it is due when its own run has ended.

    staged: whether it is due with every event. heartbeat_us: interval in which it is due at most once, or None.
    """

    staged: bool
    heartbeat_us: int | None

    def is_due(self, members: Sequence[MemberHead], new_event_ids: Collection[str], run_id: str) -> bool:
        """Return whether a batch makes the application due. new_event_ids: ids of the batch's events."""
        fresh = [each.head.received_us for each in members if each.head.event_id in new_event_ids]
        if self.heartbeat_us and fresh:
            old = [each.head.received_us for each in members if each.head.event_id not in new_event_ids]
            return is_heartbeat_due(fresh, old, self.heartbeat_us)
        return bool(fresh) and (self.staged or has_ended(members, run_id))


def has_ended(members: Sequence[MemberHead], run_id: str) -> bool:
    """Return whether the application's own run has ended."""
    return any(each.head.run_id == run_id and each.head.state in TERMINAL_TYPES for each in members)


def is_heartbeat_due(
    new_event_times_us: Sequence[int], earlier_event_times_us: Sequence[int], heartbeat_us: int
) -> bool:
    """Return whether the newest event is in a later heartbeat interval than all earlier ones."""
    return (
        not earlier_event_times_us
        or max(new_event_times_us) // heartbeat_us > max(earlier_event_times_us) // heartbeat_us
    )


@runtime_checkable
class ConvertsApplications(Protocol):
    """A target that can represent an application as one job; `send_policy` is None if its options disable this."""

    send_policy: SendPolicy | None

    def convert_application(self, application_events: ApplicationEvents) -> Payload | None:
        """Return the payload of an application, or None if the events do not form an application; performs no I/O."""


def build_application_payloads(
    target: ConvertsApplications, bronze: Bronze, events: Sequence[SinkEvent], mask_secrets: MaskSecrets
) -> list[Payload]:
    """Return the payloads of the applications that a batch makes due; reads one application at a time into memory."""
    if target.send_policy is None or not events:
        return []
    families = _due_applications(bronze, events, target.send_policy)
    return [
        payload
        for application_events in families
        if (payload := application_payload(target, application_events, mask_secrets))
    ]


def application_payload(
    target: ConvertsApplications, application_events: ApplicationEvents, mask_secrets: MaskSecrets
) -> Payload | None:
    """Return the payload of an application, or None if the events do not form an application.

    If the conversion fails unexpectedly, the payload is unfit.
    """
    try:
        return target.convert_application(application_events)
    except HeadwaterError:
        raise
    except Exception as error:
        return Payload(application_events.at, b"", log_unexpected_error(error, "Converting", mask_secrets))


def _due_applications(
    bronze: Bronze, events: Sequence[SinkEvent], send_policy: SendPolicy
) -> Iterator[ApplicationEvents]:
    now_us = max(event.head.received_us for event in events)
    news = {event.head.event_id: event for event in events}
    asked = {event.head.run_id for event in events if event.head.run_id and event.head.state in TERMINAL_TYPES}
    by_source: dict[Source, list[int]] = defaultdict(list)
    for event in events:
        by_source[event.source].append(event.head.sequence)
    asked |= set[str]().union(*(parent_ids_at_sequences(bronze, source, of) for source, of in by_source.items()))
    for run_id, members in application_members(bronze, asked, now_us - LOOKBACK_US, now_us).items():
        if send_policy.is_due(members, news, run_id):
            own = [news[each.head.event_id] for each in members if each.head.event_id in news]
            yield ApplicationEvents(run_id, read_application(bronze, members), own[-1])


def application_members(bronze: Bronze, run_ids: set[str], since_us: int, until_us: int) -> dict[str, list[MemberHead]]:
    """Return the events of each run in `run_ids` that is an application, that is, has actions, by run id.

    since_us, until_us: bounds of the receipt times (UTC).
    """
    families: dict[str, list[MemberHead]] = defaultdict(list)
    for each in heads_of_runs_and_children(bronze, run_ids, since_us, until_us) if run_ids else ():
        for run_id in {each.head.run_id, each.parent_run_id} & run_ids:
            families[str(run_id)].append(each)
    return {
        run_id: members for run_id, members in families.items() if any(each.parent_run_id == run_id for each in members)
    }


def read_application(bronze: Bronze, members: Sequence[MemberHead]) -> list[SinkEvent]:
    """Return at most MAX_APPLICATION_EVENTS events of an application with their bodies, in the given order."""
    half = MAX_APPLICATION_EVENTS // 2
    chosen = (
        members
        if len(members) <= MAX_APPLICATION_EVENTS
        else [each for each in members if each.head.state in TERMINAL_TYPES]
    )
    return read_members(bronze, chosen if len(chosen) <= MAX_APPLICATION_EVENTS else [*chosen[:half], *chosen[-half:]])


def read_members(bronze: Bronze, members: Sequence[MemberHead]) -> list[SinkEvent]:
    """Return events with their bodies, in the given order."""
    places: Mapping[Source, list[int]] = defaultdict(list)
    for each in members:
        places[each.source].append(each.head.sequence)
    bodies = {source: stored_bodies(bronze, source, of) for source, of in places.items()}
    return [SinkEvent(each.source, each.head, bodies[each.source][each.head.sequence].encode()) for each in members]


class Application(NamedTuple):
    """The application that a run belongs to: the run id and the job of the application's own run."""

    run_id: str
    job: Name


def engine_of(merged: MergedEvent) -> str:
    """Return the engine of a run or job in lower case (D4), or `unknown` if neither facets nor the producer name it."""
    if isinstance(engine := facet_members(merged.run_facets, "processing_engine").get("name"), str) and engine:
        return engine.lower()
    if found := _INTEGRATION.fullmatch(merged.producer):
        return found[1].lower()
    return next((name for name in ("airflow", "trino") if name in merged.producer.lower()), "unknown")


def application_of(merged: MergedEvent) -> Application | None:
    """Return the application if a run is one of its actions; None for its own run and for engines other than Spark.

    The parent of the application's own run is the task that started the application, not an application.
    """
    parent = facet_members(merged.run_facets, "parent")
    run_id, namespace, name = (
        text_at(parent, *path) for path in (("run", "runId"), ("job", "namespace"), ("job", "name"))
    )
    if not (run_id and name) or "SPARK" not in (merged.job_type("integration"), engine_of(merged).upper()):
        return None
    kind = merged.job_type("jobType")
    is_action = kind in ("SQL_JOB", "RDD_JOB") or (not kind and merged.job.name.startswith(f"{name}."))
    return Application(run_id, Name(namespace or "", name)) if is_action else None


def merge_application(application: Application, own: MergedEvent | None, actions: Sequence[MergedEvent]) -> MergedEvent:
    """Merge an application's own run with its actions; there must be at least one action.

    The result has the datasets of all runs that count. The newest value of each dataset facet is used, and the first
    value of each run or job facet. The application lasts from the first to the last event, and fails if any run failed.
    """
    ordered = sorted(actions, key=lambda each: (each.first_event_us, each.last_event_us, each.run_id or ""))
    whole = [own, *ordered] if own else ordered
    counted = [each for each in whole if each.has_counted_edges]
    found = MergedEvent(
        "RUN",
        min(each.first_event_us for each in whole),
        max(each.last_event_us for each in whole),
        started_us=min((each.started_us for each in whole if each.started_us is not None), default=None),
        producer=whole[0].producer,
        run_id=application.run_id,
        job=application.job,
        run_facets=_merge_first([own.run_facets] if own else [_without_parent(each.run_facets) for each in ordered]),
        job_facets=_merge_first(each.job_facets for each in whole),
        inputs=_merge_newest(each.inputs for each in counted),
        outputs=_merge_newest(each.outputs for each in counted),
        counts_in_any_state=True,
    )
    for facets in (found.run_facets, found.job_facets):
        facets.pop("lineage", None)
    for each in counted:
        merge_facets(found.run_facets, _lineage_facets(each.run_facets))
        merge_facets(found.job_facets, _lineage_facets(each.job_facets))
    found.state, found.ended_us = _end_state_and_time(own, ordered)
    found.completed_us = found.ended_us if found.state == "COMPLETE" else None
    return found


def _end_state_and_time(own: MergedEvent | None, actions: Sequence[MergedEvent]) -> tuple[str | None, int | None]:
    """Return the state and the time (us) of the end, or None and None if the application has not ended.

    It has ended when its own run has ended, or without events of its own run, when all actions have ended.
    """
    if not all(each.state for each in ([own] if own else actions)):
        return None, None
    finished = [each for each in (own, *actions) if each and each.state]
    failures = [each.state for each in finished if each.state != "COMPLETE"]
    return (failures or ["COMPLETE"])[0], max(each.ended_us or 0 for each in finished)


def _merge_first(some: Iterable[Facets]) -> dict[str, Raw]:
    found: dict[str, Raw] = {}
    for facets in some:
        found = {**facets, **found}
    return found


def _merge_newest(some: Iterable[Mapping[Name, Facets]]) -> dict[Name, Facets]:
    found: dict[Name, Facets] = {}
    for datasets in some:
        for name, facets in datasets.items():
            found[name] = {**found.get(name, {}), **facets}
    return found


def _lineage_facets(facets: Facets) -> Facets:
    return {name: raw for name, raw in facets.items() if name == "lineage"}


def _without_parent(facets: Facets) -> Facets:
    return {name: raw for name, raw in facets.items() if name != "parent"}
