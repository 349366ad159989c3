"""Whole runs for targets that take no single events: what the lake had of a run before, beside its new events."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from headwater.events.position import Source
from headwater.lake.bronze_follower import StoredHead, events_of_runs
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_key
from headwater.sinks.earlier_applications import LOOKS_BACK_US, TakesApplications, payloads_of_applications
from headwater.sinks.sink_shape import Payload, SinkEvent, Target

MOST = 20
"""Events of a run before a batch, first ones and last ones: a batch has four, a stream one a minute, for months."""


def run_of(head: StoredHead) -> str | None:
    """Return what the events of one run share, None for what is of no run; a run id alone need not be one's own."""
    return run_key(head.run_id, Name(head.job_namespace or "", head.job_name or "")) if head.run_id else None


History = Mapping[str, Sequence[SinkEvent]]
"""Run id → events of the run before those of a batch, in order."""


@runtime_checkable
class TakesRuns(Protocol):
    """A target whose payloads follow from whole runs."""

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return what is sent of events, in the order in which it is sent; touches nothing outside."""


def payloads_of(target: Target, bronze: Bronze, events: Sequence[SinkEvent]) -> list[Payload]:
    """Convert events, for targets that take whole runs or applications with what the lake had of these before."""
    if not isinstance(target, TakesRuns):
        return target.convert(events)
    found = target.convert_runs(events, _history(bronze, events))
    return found + payloads_of_applications(target, bronze, events) if isinstance(target, TakesApplications) else found


def _history(bronze: Bronze, events: Sequence[SinkEvent]) -> History:
    begun = {event.head.run_id for event in events if event.head.state == "START"}
    first: dict[Source, dict[str, StoredHead]] = defaultdict(dict)
    for event in events:
        if event.head.run_id and event.head.run_id not in begun:
            first[event.source].setdefault(event.head.run_id, event.head)
    found: dict[str, Sequence[SinkEvent]] = {}
    for source, runs in first.items():
        found |= _of_source(bronze, source, runs)
    return found


def _of_source(bronze: Bronze, source: Source, runs: Mapping[str, StoredHead]) -> dict[str, list[SinkEvent]]:
    """Return what the lake has of runs before their first event of a batch."""
    since_us = max(0, min(head.received_us for head in runs.values()) - LOOKS_BACK_US)
    before = max(head.sequence for head in runs.values())
    found: dict[str, list[SinkEvent]] = defaultdict(list)
    for head, body in events_of_runs(bronze, source, runs.keys(), before=before, since_us=since_us, most=MOST):
        if head.run_id and head.sequence < runs[head.run_id].sequence:
            found[head.run_id].append(SinkEvent(source, head, body.encode()))
    return found
