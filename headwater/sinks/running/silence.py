"""Report lost runs and silent applications, which no event reports, by querying the lake at intervals.

A sink treats time as a partition and moments as its sequence numbers. If the process is killed, the sink checks the
uncommitted time range again.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import (
    MemberHead,
    ends_of_parents_and_roots,
    heads_of_runs_and_children,
    oldest_ahead_us,
    parent_ids_received_between,
    silent_runs,
)
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.runs import lost_runs
from headwater.lineage.runs.lost_runs import LOST_AFTER_US, is_lost
from headwater.sinks.interface.error_isolation import MaskSecrets, log_unexpected_error
from headwater.sinks.interface.options import Silence, Sink
from headwater.sinks.interface.shape import CLOCK, Payload, SinkEvent, Target, run_key_of
from headwater.sinks.merging.applications import (
    LOOKBACK_US,
    ApplicationEvents,
    ConvertsApplications,
    application_members,
    application_payload,
    has_ended,
    read_application,
    read_members,
)
from headwater.sinks.merging.payloads import MAX_RUN_EVENTS
from headwater.sinks.merging.runs import MergedEvent, merge_events
from headwater.sinks.running.feed import Batch
from headwater.sinks.running.ledger import SinkPosition

MAX_PAYLOADS = 200
"""Maximum number of payloads per call, unless more payloads become due at the same moment."""
_DAY_US = 24 * 3600 * 1_000_000
_EVER_US = 1 << 53
_CHECKS_PER_SILENCE = 20
"""Number of checks per silence: the sink reports a silent run late by at most 1/20 of the silence."""
_MAX_CHECK_INTERVAL_S = 600.0
"""Maximum seconds between two checks, and so the maximum delay of a report."""
_COMMIT_CLOCK_US = 3600 * 1_000_000
"""Time between two commits of the position in the partition CLOCK while no run becomes silent (us)."""


class SilenceQuery(NamedTuple):
    """The context of a query: the target, the lake, the sink's filter, and the function that masks secrets."""

    target: Target
    bronze: Bronze
    matches: Callable[[StoredHead], bool]
    mask_secrets: MaskSecrets


@runtime_checkable
class ConvertsLostRuns(Protocol):
    """A target that reports lost runs."""

    def convert_lost(self, event: SinkEvent, run: MergedEvent) -> Payload:
        """Return the payload of a lost run. event: newest event of the run, without body. run: all events, merged."""


class SilencePayloads(NamedTuple):
    """The payloads about silent runs or applications that are due up to the moment `until_us` (us, UTC)."""

    payloads: list[Payload]
    until_us: int


def find_silent(query: SilenceQuery, silence: Silence, since_us: int, until_us: int) -> SilencePayloads:
    """Return the payloads about runs or applications that became silent after `since_us`, with a new `until_us`.

    One call covers at most one day and about MAX_PAYLOADS payloads; call again with the returned `until_us` to
    continue.

    since_us: start (us, UTC), or 0 for the whole history of the lake.
    """
    if not query.bronze.exists():
        return SilencePayloads([], until_us)
    if not since_us:
        since_us = min(oldest_ahead_us(query.bronze, {}) or until_us, until_us) - 1
    until_us = min(until_us, since_us + _DAY_US)
    found = sorted(_silence_kind(silence).find(query.bronze, since_us, until_us), key=lambda each: each[1])
    if len(found) > MAX_PAYLOADS:
        until_us = found[MAX_PAYLOADS - 1][1]
    return SilencePayloads(silence_payloads(query, silence, {run: us for run, us in found if us <= until_us}), until_us)


def silence_payloads(query: SilenceQuery, silence: Silence, found: Mapping[str, int]) -> list[Payload]:
    """Return the payloads of silent runs or applications. found: maps a run id to the moment (us, UTC) of silence."""
    return [payload for payload in _silence_kind(silence).convert(query, found) if payload] if found else []


def _silence_kind(silence: Silence) -> "_SilentApplications | _LostRuns":
    return _SilentApplications(int(silence.after_s * 1e6)) if silence.by_receipt else _LostRuns()


class _SilentApplications(NamedTuple):
    """Finds applications without an end from which no event was received for `idle_us`."""

    idle_us: int

    def find(self, bronze: Bronze, since_us: int, until_us: int) -> list[tuple[str, int]]:
        """Return the applications that became silent in (since_us, until_us]: run id and moment (us, UTC) of each."""
        parents = parent_ids_received_between(bronze, since_us - self.idle_us, until_us - self.idle_us)
        families = application_members(bronze, parents, since_us - self.idle_us - LOOKBACK_US, until_us)
        silent = {
            run_id: max(each.head.received_us for each in members) + self.idle_us
            for run_id, members in families.items()
            if not has_ended(members, run_id)
        }
        return [(run_id, us) for run_id, us in silent.items() if since_us < us <= until_us]

    def convert(self, by: SilenceQuery, found: Mapping[str, int]) -> Iterator[Payload | None]:
        """Yield the payloads of applications that pass the filter; None if the events do not form an application."""
        since_us = min(found.values()) - self.idle_us - LOOKBACK_US
        for run_id, heard in application_members(by.bronze, {*found}, since_us, max(found.values())).items():
            members = [each for each in heard if each.head.received_us <= found[run_id]]
            if isinstance(by.target, ConvertsApplications) and any(by.matches(each.head) for each in members):
                at = SinkEvent(CLOCK, members[-1].head._replace(sequence=found[run_id], run_id=run_id), b"")
                yield application_payload(
                    by.target, ApplicationEvents(run_id, read_application(by.bronze, members), at), by.mask_secrets
                )


class _LostRuns:
    """Finds runs that are lost by rule 1 of docs/reference/lineage.md."""

    def find(self, bronze: Bronze, since_us: int, until_us: int) -> list[tuple[str, int]]:
        """Return the ids of runs that may have become lost in (since_us, until_us], each with this moment (us, UTC)."""
        return silent_runs(bronze, since_us, until_us, LOST_AFTER_US)

    def convert(self, by: SilenceQuery, found: Mapping[str, int]) -> Iterator[Payload]:
        """Yield the payloads of lost runs that pass the filter."""
        since_us = min(found.values()) - LOST_AFTER_US - LOOKBACK_US
        ends = ends_of_parents_and_roots(by.bronze, found, since_us)
        by_run: dict[str | None, list[MemberHead]] = defaultdict(list)
        for each in heads_of_runs_and_children(by.bronze, found, since_us, _EVER_US, without_children=True):
            by_run[run_key_of(each.head)].append(each)
        for members in by_run.values():
            at_us = found[str(members[-1].head.run_id)]
            some = (
                members
                if len(members) <= MAX_RUN_EVENTS
                else [*members[: MAX_RUN_EVENTS // 2], *members[-MAX_RUN_EVENTS // 2 :]]
            )
            run = merge_events(read_members(by.bronze, some))
            ended, streams = run.state is not None, run.is_streaming
            lost = is_lost(has_ended=ended, is_streaming=streams, last_us=run.last_event_us, now_us=at_us)
            above = ends.get(str(members[-1].head.run_id), ())
            ended_above = lost_runs.ended_with_parent(
                is_open=not ended, is_streaming=streams, last_us=run.last_event_us, ends_us=above
            )
            wanted = lost and not ended_above and any(by.matches(each.head) for each in members)
            if wanted and isinstance(by.target, ConvertsLostRuns):
                yield _convert_lost(
                    by.target, SinkEvent(CLOCK, members[-1].head._replace(sequence=at_us), b""), run, by.mask_secrets
                )


def _convert_lost(target: ConvertsLostRuns, event: SinkEvent, run: MergedEvent, mask_secrets: MaskSecrets) -> Payload:
    try:
        return target.convert_lost(event, run)
    except Exception as error:
        return Payload(event, b"", log_unexpected_error(error, "Converting", mask_secrets))


class SilenceClock:
    """Finds the payloads about silent runs or applications; there are none if the sink's options define no silence."""

    def __init__(
        self,
        sink: Sink,
        bronze: Bronze,
        position: SinkPosition,
        *,
        mask_secrets: MaskSecrets,
        clock: Callable[[], int],
        stop: threading.Event,
    ) -> None:
        """clock: returns the moment up to which silence is reported (us, UTC)."""
        self._sink = sink
        self._bronze = bronze
        self._position = position
        self._mask_secrets = mask_secrets
        self._clock = clock
        self._stop = stop

    def due_payloads(self, open_target: Callable[[], Target]) -> SilencePayloads | None:
        """Return the payloads that became due since the last check; None if there are none or no check is due.

        After one hour without due payloads, returns a result without payloads, so that the caller commits the position.
        """
        silence, now_us, position = self._sink.options.silence, self._clock(), self._position
        if silence is None or now_us < position.next_check_us:
            return None
        while position.reported_until_us < now_us:
            turn = self._silence_payloads(open_target(), silence, position.reported_until_us, now_us)
            if turn.payloads or self._stop.is_set() or turn.until_us >= position.committed_until_us + _COMMIT_CLOCK_US:
                return turn
            position.progress = position.progress_with({CLOCK: turn.until_us})
        position.next_check_us = now_us + int(min(silence.after_s / _CHECKS_PER_SILENCE, _MAX_CHECK_INTERVAL_S) * 1e6)
        return None

    def payloads_due_to_late_events(self, batch: Batch, open_target: Callable[[], Target]) -> list[Payload]:
        """Return the payloads that late events of a batch make due in a time range that was already checked."""
        silence, reported_until_us = self._sink.options.silence, self._position.reported_until_us
        if not silence or not batch.events:
            return []
        oldest_us = min(event.head.received_us for event in batch.events)
        since_us = oldest_us - 1 + (int(silence.after_s * 1e6) if silence.by_receipt else 0)
        found: list[Payload] = []
        while 0 < since_us < reported_until_us:
            payloads, since_us = self._silence_payloads(open_target(), silence, since_us, reported_until_us)
            found += payloads
        return found

    def _silence_payloads(self, target: Target, silence: Silence, since_us: int, until_us: int) -> SilencePayloads:
        """Return the payloads of a time range, with sequence numbers after the position in the partition CLOCK."""
        by = SilenceQuery(target, self._bronze, self._sink.options.only.matches, self._mask_secrets)
        turn = find_silent(by, silence, since_us, until_us)
        return SilencePayloads(
            [_with_valid_position(each, self._position.reported_until_us + 1) for each in turn.payloads], turn.until_us
        )


def _with_valid_position(payload: Payload, least: int) -> Payload:
    """Set the sequence number of a payload to at least `least`, so that a dead letter for it can be committed."""
    head = payload.event.head
    head = head._replace(sequence=max(head.sequence, least))
    return payload._replace(event=payload.event._replace(head=head))
