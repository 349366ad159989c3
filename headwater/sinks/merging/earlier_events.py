"""Whole runs for targets that take no single events: what the lake had of a run before, beside its new events."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Protocol, runtime_checkable

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import ends_of_runs, events_of_runs, heads_by_time, stored_bodies
from headwater.lake.bronze_tables import Bronze
from headwater.lake.schema_changes import SchemaChange, schema_changes
from headwater.lineage.runs.run_facts import TERMINAL
from headwater.sinks.contract.guarding import Hide, convert_guarded, place
from headwater.sinks.contract.sink_shape import History, Payload, SinkEvent, Target, run_of
from headwater.sinks.merging.earlier_applications import LOOKS_BACK_US, TakesApplications, payloads_of_applications

MOST = 20
"""Events of a run before a batch, first ones and last ones: a batch has four, a stream one a minute, for months."""


@runtime_checkable
class TakesRuns(Protocol):
    """A target whose payloads follow from whole runs."""

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return what is sent of events, in the order in which it is sent; touches nothing outside."""


SchemaChanges = Callable[[], Mapping[str, Sequence[SchemaChange]]]
"""Looks up which schemas a batch changes, by the ids of its events."""


@runtime_checkable
class TakesSchemaChanges(Protocol):
    """A target that tells of changed schemas."""

    def convert_changes(self, events: Sequence[SinkEvent], changes: SchemaChanges) -> list[Payload]:
        """Return what is sent of events, in the order in which it is sent; touches nothing outside but `changes`."""


@runtime_checkable
class TakesEnds(Protocol):
    """A target that takes a run's state from the event that arrives last."""

    def convert_behind(self, events: Sequence[SinkEvent], ends: Sequence[SinkEvent]) -> list[Payload]:
        """Return what is sent of events; ends: terminal events of their runs that the lake had before them."""


def payloads_of(
    target: Target, bronze: Bronze, events: Sequence[SinkEvent], hide: Hide = str, ordered_from_us: int | None = None
) -> list[Payload]:
    """Convert events, with what the lake had before where a target asks for it: of runs, applications, or schemas.

    What the target fails at unforeseen is unfit: an event, or what a run has among these. hide: of what is said then.
    ordered_from_us: the time (us, UTC) of the first event where events are in the order of their own times; then what
    stands before them in that order counts as before.
    """
    if isinstance(target, TakesSchemaChanges):
        changes = cache(lambda: _changes(bronze, events))
        return convert_guarded(lambda some: target.convert_changes(some, changes), events, place, hide)
    if isinstance(target, TakesEnds):
        ends = _earlier_ends(bronze, events)
        return convert_guarded(lambda some: target.convert_behind(some, ends), events, place, hide)
    if not isinstance(target, TakesRuns):
        return convert_guarded(target.convert, events, place, hide)
    history = _history(bronze, events) if ordered_from_us is None else _history_by_time(bronze, events, ordered_from_us)

    def convert(some: Sequence[SinkEvent]) -> list[Payload]:
        known = {event.head.run_id for event in some}
        return target.convert_runs(some, {run: before for run, before in history.items() if run in known})

    found = convert_guarded(convert, events, lambda event: run_of(event.head) or place(event), hide)
    if isinstance(target, TakesApplications):
        found += payloads_of_applications(target, bronze, events, hide)
    return found


def _changes(bronze: Bronze, events: Sequence[SinkEvent]) -> dict[str, list[SchemaChange]]:
    heads: dict[Source, list[StoredHead]] = defaultdict(list)
    for event in events:
        heads[event.source].append(event.head)
    found: dict[str, list[SchemaChange]] = {}
    for source, of_source in heads.items():
        found |= schema_changes(bronze, source, of_source)
    return found


def _earlier_ends(bronze: Bronze, events: Sequence[SinkEvent]) -> list[SinkEvent]:
    """Return the ends that the lake had before the last events of runs that do not end in a batch.

    The lake is asked each time, so restarts need no state; events that came seven days before are not looked for.
    """
    last = {run: event for event in events if (run := run_of(event.head))}
    still_open = {run: event for run, event in last.items() if event.head.state not in TERMINAL}
    if not still_open:
        return []
    since_us = max(0, min(event.head.received_us for event in still_open.values()) - LOOKS_BACK_US)
    named = {event.head.run_id for event in still_open.values() if event.head.run_id}
    found = [
        (source, head)
        for source, head in ends_of_runs(bronze, named, since_us)
        if (at := still_open.get(run_of(head) or "")) and _is_before(source, head, at)
    ]
    newest = {run_of(head): (source, head) for source, head in found}  # of several ends the one that came last
    return [
        SinkEvent(source, head, stored_bodies(bronze, source, [head.sequence])[head.sequence].encode())
        for source, head in newest.values()
    ]


def _is_before(source: Source, head: StoredHead, event: SinkEvent) -> bool:
    if source == event.source:
        return head.sequence < event.head.sequence
    return head.received_us <= event.head.received_us


def _begun(events: Sequence[SinkEvent]) -> set[str | None]:
    """Return the runs that begin in a batch; what failed may be a later attempt, so it is looked for."""
    failed = {event.head.run_id for event in events if event.head.state in ("FAIL", "ABORT")}
    return {event.head.run_id for event in events if event.head.state == "START"} - failed


def _history(bronze: Bronze, events: Sequence[SinkEvent]) -> History:
    begun = _begun(events)
    first: dict[Source, dict[str, StoredHead]] = defaultdict(dict)
    for event in events:
        if event.head.run_id and event.head.run_id not in begun:
            first[event.source].setdefault(event.head.run_id, event.head)
    found: dict[str, Sequence[SinkEvent]] = {}
    for source, runs in first.items():
        found |= _of_source(bronze, source, runs)
    return found


def _history_by_time(bronze: Bronze, events: Sequence[SinkEvent], first_us: int) -> History:
    begun = _begun(events)
    first: dict[str, SinkEvent] = {}
    for event in events:
        if event.head.run_id and event.head.run_id not in begun:
            first.setdefault(event.head.run_id, event)
    before: dict[str, list[tuple[Source, StoredHead]]] = defaultdict(list)
    reached: set[str] = set()
    for source, head in heads_by_time(bronze, first.keys(), first_us - LOOKS_BACK_US) if first else ():
        run_id = head.run_id or ""
        if place(first[run_id]) == (source, head.sequence):
            reached.add(run_id)
        if run_id not in reached:
            before[run_id].append((source, head))
    half = MOST // 2
    return {
        run_id: events_at(bronze, those if len(those) <= MOST else [*those[:half], *those[-half:]])
        for run_id, those in before.items()
    }


def events_at(bronze: Bronze, places: Sequence[tuple[Source, StoredHead]]) -> list[SinkEvent]:
    """Return events with their bodies, in the order of their places; those that bronze has no more are left out."""
    by_source: dict[Source, list[int]] = defaultdict(list)
    for source, head in places:
        by_source[source].append(head.sequence)
    bodies = {source: stored_bodies(bronze, source, sequences) for source, sequences in by_source.items()}
    return [
        SinkEvent(source, head, bodies[source][head.sequence].encode())
        for source, head in places
        if head.sequence in bodies[source]
    ]


def _of_source(bronze: Bronze, source: Source, runs: Mapping[str, StoredHead]) -> dict[str, list[SinkEvent]]:
    """Return what the lake has of runs before their first event of a batch."""
    since_us = max(0, min(head.received_us for head in runs.values()) - LOOKS_BACK_US)
    before = max(head.sequence for head in runs.values())
    found: dict[str, list[SinkEvent]] = defaultdict(list)
    for head, body in events_of_runs(bronze, source, runs.keys(), before=before, since_us=since_us, most=MOST):
        if head.run_id and head.sequence < runs[head.run_id].sequence:
            found[head.run_id].append(SinkEvent(source, head, body.encode()))
    return found
