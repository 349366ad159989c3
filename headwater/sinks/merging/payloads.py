"""Build payloads for targets that need more than single events, by adding earlier events of a run from the lake."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Protocol, runtime_checkable

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import events_of_runs, heads_by_time, stored_bodies, terminal_events_of_runs
from headwater.lake.bronze_tables import Bronze
from headwater.lake.dataset_schema_changes import SchemaChange, schema_changes
from headwater.lineage.runs.run_facts import TERMINAL_TYPES
from headwater.sinks.interface.error_isolation import MaskSecrets, convert_guarded, event_position
from headwater.sinks.interface.shape import History, Payload, SinkEvent, Target, run_key_of
from headwater.sinks.merging.applications import LOOKBACK_US, ConvertsApplications, build_application_payloads

MAX_RUN_EVENTS = 20
"""Maximum number of a run's events before a batch; if there are more, the first and the last ones are used.

Batch runs send about four events, streams about one per minute.
"""


@runtime_checkable
class ConvertsRuns(Protocol):
    """A target that converts whole runs."""

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return the payloads of events, in the order to send them; performs no I/O.

        history: the earlier events of the runs.
        """


SchemaChanges = Callable[[], Mapping[str, Sequence[SchemaChange]]]
"""Returns the schema changes of a batch, by event id."""


@runtime_checkable
class ConvertsSchemaChanges(Protocol):
    """A target that reports changed schemas."""

    def convert_changes(self, events: Sequence[SinkEvent], changes: SchemaChanges) -> list[Payload]:
        """Return the payloads of events, in the order to send them; performs no I/O except `changes`."""


@runtime_checkable
class ConvertsRunEnds(Protocol):
    """A target that sets a run's state from the event that it receives last."""

    def convert_with_ends(self, events: Sequence[SinkEvent], ends: Sequence[SinkEvent]) -> list[Payload]:
        """Return the payloads of events. ends: terminal events that the lake already has for these runs."""


def build_payloads(
    target: Target,
    bronze: Bronze,
    events: Sequence[SinkEvent],
    mask_secrets: MaskSecrets = str,
    ordered_from_us: int | None = None,
) -> list[Payload]:
    """Convert events, and read earlier events, applications or schemas from the lake if the target needs them.

    If the conversion of an event fails unexpectedly, the event is unfit; for targets that convert whole runs, all
    events of its run in the batch are unfit.
    ordered_from_us: event time of the first event (us, UTC) if events are ordered by event time, None if they are in
    the order of the lake. Earlier events of a run are those that precede the batch in this order.
    """
    if isinstance(target, ConvertsSchemaChanges):
        changes = cache(lambda: _schema_changes(bronze, events))
        return convert_guarded(lambda some: target.convert_changes(some, changes), events, event_position, mask_secrets)
    if isinstance(target, ConvertsRunEnds):
        ends = _earlier_ends(bronze, events)
        return convert_guarded(lambda some: target.convert_with_ends(some, ends), events, event_position, mask_secrets)
    if not isinstance(target, ConvertsRuns):
        return convert_guarded(target.convert, events, event_position, mask_secrets)
    history = (
        _history_by_receipt(bronze, events)
        if ordered_from_us is None
        else _history_by_time(bronze, events, ordered_from_us)
    )

    def convert_some(some: Sequence[SinkEvent]) -> list[Payload]:
        known = {event.head.run_id for event in some}
        return target.convert_runs(some, {run: before for run, before in history.items() if run in known})

    found = convert_guarded(
        convert_some, events, lambda event: run_key_of(event.head) or event_position(event), mask_secrets
    )
    if isinstance(target, ConvertsApplications):
        found += build_application_payloads(target, bronze, events, mask_secrets)
    return found


def _schema_changes(bronze: Bronze, events: Sequence[SinkEvent]) -> dict[str, list[SchemaChange]]:
    heads: dict[Source, list[StoredHead]] = defaultdict(list)
    for event in events:
        heads[event.source].append(event.head)
    found: dict[str, list[SchemaChange]] = {}
    for source, of_source in heads.items():
        found |= schema_changes(bronze, source, of_source)
    return found


def _earlier_ends(bronze: Bronze, events: Sequence[SinkEvent]) -> list[SinkEvent]:
    """Return the terminal event that the lake already has for runs without one at the end of the batch.

    Each call queries the lake, so restarts need no state. Events received more than seven days earlier are ignored.
    """
    last = {run: event for event in events if (run := run_key_of(event.head))}
    still_open = {run: event for run, event in last.items() if event.head.state not in TERMINAL_TYPES}
    if not still_open:
        return []
    since_us = max(0, min(event.head.received_us for event in still_open.values()) - LOOKBACK_US)
    named = {event.head.run_id for event in still_open.values() if event.head.run_id}
    found = [
        (source, head)
        for source, head in terminal_events_of_runs(bronze, named, since_us)
        if (at := still_open.get(run_key_of(head) or "")) and _is_before(source, head, at)
    ]
    newest = {run_key_of(head): (source, head) for source, head in found}  # the last of several ends wins
    return [
        SinkEvent(source, head, stored_bodies(bronze, source, [head.sequence])[head.sequence].encode())
        for source, head in newest.values()
    ]


def _is_before(source: Source, head: StoredHead, event: SinkEvent) -> bool:
    if source == event.source:
        return head.sequence < event.head.sequence
    return head.received_us <= event.head.received_us


def _started_runs(events: Sequence[SinkEvent]) -> set[str | None]:
    """Return the runs that start in a batch and so have no earlier events.

    Runs that fail in the batch are not included, because they may be later attempts, which do have earlier events.
    """
    failed = {event.head.run_id for event in events if event.head.state in ("FAIL", "ABORT")}
    return {event.head.run_id for event in events if event.head.state == "START"} - failed


def _history_by_receipt(bronze: Bronze, events: Sequence[SinkEvent]) -> History:
    started = _started_runs(events)
    first: dict[Source, dict[str, StoredHead]] = defaultdict(dict)
    for event in events:
        if event.head.run_id and event.head.run_id not in started:
            first[event.source].setdefault(event.head.run_id, event.head)
    found: dict[str, Sequence[SinkEvent]] = {}
    for source, runs in first.items():
        found |= _earlier_events_of_source(bronze, source, runs)
    return found


def _history_by_time(bronze: Bronze, events: Sequence[SinkEvent], first_us: int) -> History:
    started = _started_runs(events)
    first: dict[str, SinkEvent] = {}
    for event in events:
        if event.head.run_id and event.head.run_id not in started:
            first.setdefault(event.head.run_id, event)
    before: dict[str, list[tuple[Source, StoredHead]]] = defaultdict(list)
    reached: set[str] = set()
    for source, head in heads_by_time(bronze, first.keys(), first_us - LOOKBACK_US) if first else ():
        run_id = head.run_id or ""
        if event_position(first[run_id]) == (source, head.sequence):
            reached.add(run_id)
        if run_id not in reached:
            before[run_id].append((source, head))
    half = MAX_RUN_EVENTS // 2
    return {
        run_id: events_at(bronze, those if len(those) <= MAX_RUN_EVENTS else [*those[:half], *those[-half:]])
        for run_id, those in before.items()
    }


def events_at(bronze: Bronze, places: Sequence[tuple[Source, StoredHead]]) -> list[SinkEvent]:
    """Return events with their bodies, in the given order, without events that were removed from bronze."""
    by_source: dict[Source, list[int]] = defaultdict(list)
    for source, head in places:
        by_source[source].append(head.sequence)
    bodies = {source: stored_bodies(bronze, source, sequences) for source, sequences in by_source.items()}
    return [
        SinkEvent(source, head, bodies[source][head.sequence].encode())
        for source, head in places
        if head.sequence in bodies[source]
    ]


def _earlier_events_of_source(
    bronze: Bronze, source: Source, runs: Mapping[str, StoredHead]
) -> dict[str, list[SinkEvent]]:
    """Return the events of each run that precede the run's first event in a batch. runs: this event, by run id."""
    since_us = max(0, min(head.received_us for head in runs.values()) - LOOKBACK_US)
    before = max(head.sequence for head in runs.values())
    found: dict[str, list[SinkEvent]] = defaultdict(list)
    for head, body in events_of_runs(
        bronze, source, runs.keys(), before=before, since_us=since_us, limit=MAX_RUN_EVENTS
    ):
        if head.run_id and head.sequence < runs[head.run_id].sequence:
            found[head.run_id].append(SinkEvent(source, head, body.encode()))
    return found
