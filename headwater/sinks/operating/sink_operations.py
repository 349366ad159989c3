"""Operations on sinks: list, preview, pause, reset, redrive."""

import sys
from collections.abc import Mapping
from typing import Any

from headwater.common.errors import LakeUnavailable, Retry, WrongQuestion
from headwater.events.position import Source
from headwater.events.times import iso
from headwater.lake.bronze_follower import ahead, heads_of, sources_ahead, stored_bodies
from headwater.lake.bronze_tables import Bronze
from headwater.lake.ownership import EPOCH
from headwater.lake.reported_events import whole_run_id
from headwater.sinks.contract.error_isolation import MaskSecrets, deliver_guarded
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK, WATCH, Payload, SinkEvent, Target
from headwater.sinks.merging.earlier_events import build_payloads, events_at
from headwater.sinks.merging.silence import SilenceQuery, silence_payloads
from headwater.sinks.running.sink_ledger import DesiredState, SinkLedger
from headwater.sinks.running.sink_polling import still_present

_AT_ONCE = 200


def list_sinks(
    types: Mapping[str, str],
    bronze: Bronze,
    ledger: SinkLedger,
    status: Mapping[str, Any],
    now_us: int,
    *,
    stopped: str | None = None,
) -> list[dict[str, Any]]:
    """List the sinks with their state, lag and counts.

    types: type of each sink's target, by name. status: from the process that runs the sinks, by name; empty if none
    runs. stopped: why the parser cannot add new events to the lake. A sink without its own error shows that reason, or
    the damage that prevents reading the lake; the lag is then the last one that its process measured.
    """
    try:
        sources = sources_ahead(bronze, {}) if bronze.exists() else {}
    except LakeUnavailable as error:
        reason = str(error)
        return [
            {"type": kind} | _stopped(ledger, name, status.get(name), now_us, reason) for name, kind in types.items()
        ]
    found = []
    for name, kind in types.items():
        behind = ahead(bronze, ledger.progress(name, ledger.desired_state(name), sources))
        listed = _listed(name, ledger, status.get(name))
        if behind[0] and listed["state"] == "caught up":
            listed["state"] = "delivering"  # its process set the state before these events arrived
        if stopped and not listed["trouble"]:
            listed["trouble"] = f"The parser has stopped: {stopped}"
        found.append({"name": name, "type": kind} | listed | {"behind": _lag(*behind, now_us)})
    return found


def _stopped(ledger: SinkLedger, sink: str, status: Any, now_us: int, why: str) -> dict[str, Any]:
    """Return the status of a sink, without its type, while the lake cannot be read."""
    listed = _listed(sink, ledger, status)
    if listed["state"] in ("caught up", "delivering", "collecting", "starting"):
        listed["state"] = "waiting"
    listed["trouble"] = listed["trouble"] or why
    lag = _lag(status["behind"], status["behind_us"], now_us) if status else _lag(0, None, now_us)
    return {"name": sink} | listed | {"behind": lag}


def _lag(events: int, oldest_us: int | None, now_us: int) -> dict[str, Any]:
    return {"events": events, "seconds": max(0.0, (now_us - oldest_us) / 1e6) if oldest_us else 0.0}


def _listed(sink: str, ledger: SinkLedger, status: Any) -> dict[str, Any]:
    counts = ledger.counts(sink)
    state = status["state"] if status else "not running"
    ordered = "paused" if ledger.desired_state(sink).paused else "delivering"
    return {
        "state": ordered if "paused" in (ordered, state) else state,  # its process may not have read the change yet
        "delivered": counts.delivered,
        "left_out": counts.left_out,
        "failed": ledger.failure_count(sink),
        "trouble": status["trouble"] if status else None,
        "next_try": iso(status["next_try_us"]) if status else None,
    }


def set_paused(ledger: SinkLedger, sink: str, *, is_paused: bool) -> DesiredState:
    """Pause or resume a sink."""
    desired = DesiredState(is_paused, (was := ledger.desired_state(sink)).resets, was.start)
    ledger.set_desired_state(sink, desired)
    return desired


def reset(ledger: SinkLedger, sink: str, start: Mapping[Source, int]) -> DesiredState:
    """Move a sink to another position; it delivers everything after that position again."""
    was = ledger.desired_state(sink)
    named = {f"{each.epoch}/{each.partition}": sequence for each, sequence in start.items() if sequence}
    desired = DesiredState(was.paused, was.resets + 1, named)
    ledger.set_desired_state(sink, desired)
    return desired


def parse_position(bronze: Bronze, ledger: SinkLedger, sink: str, text: str) -> dict[Source, int]:
    """Parse `PARTITION:SEQUENCE` in the log's current epoch: the last event that is not sent again."""
    partition, _, sequence = text.rpartition(":")
    sources = sources_ahead(bronze, {})
    epoch = bronze.properties().get(EPOCH)
    named = next((each for each in sources if (each.partition, each.epoch) == (partition, epoch)), None)
    if named is None or not sequence.isdecimal():
        known = ", ".join(sorted({f"{each.partition}:{head}" for each, head in sources.items()}))
        raise WrongQuestion(f"{text!r} is not `start`, `now`, a time, or a position such as {known}.")
    progress = ledger.progress(sink, ledger.desired_state(sink), sources)
    return {each: progress[each.epoch, each.partition] for each in sources} | {named: int(sequence)}


def preview(bronze: Bronze, target: Target, name: str, mask_secrets: MaskSecrets = str) -> list[dict[str, Any]]:
    """Return the payloads of an event, or of the events of a run, without sending them."""
    heads = heads_of(bronze, name, _AT_ONCE) or heads_of(bronze, whole_run_id(bronze, name), _AT_ONCE)
    return [
        {"event_id": each.event.head.event_id, "unfit": each.unfit, "payload": each.body.decode()}
        for each in build_payloads(target, bronze, events_at(bronze, heads), mask_secrets)
    ]


def redrive(
    bronze: Bronze,
    ledger: SinkLedger,
    sink: Sink,
    target: Target,
    most: int = sys.maxsize,
    *,
    mask_secrets: MaskSecrets = str,
) -> dict[str, int]:
    """Send a sink's dead letters again, one at a time, oldest first, and remove those that are delivered.

    Returns the counts `delivered`, `refused` and `gone` (the event is no longer in the lake).
    Raises Retry if the target is unavailable; letters delivered before that stay removed.
    """
    outcome = {"delivered": 0, "refused": 0, "gone": 0}
    skip: set[str] = set()
    while left := min(_AT_ONCE, most - sum(outcome.values())):
        letters = [row for row in ledger.failures(sink.name, left + len(skip)) if row["event_id"] not in skip]
        if not letters:
            break
        settled: list[str] = []
        try:
            for row in letters:
                kind = _resend(bronze, sink, target, row, mask_secrets)
                outcome[kind] += 1
                (skip.add if kind == "refused" else settled.append)(row["event_id"])
        finally:
            if settled:
                ledger.remove_failures(sink.name, settled)
    return outcome


def _resend(bronze: Bronze, sink: Sink, target: Target, row: Mapping[str, Any], mask_secrets: MaskSecrets) -> str:
    payloads = _payloads(bronze, sink, target, row, mask_secrets)
    if payloads is None:
        return "gone"
    for payload in payloads:
        if payload.unfit:
            return "refused"
        outcome = deliver_guarded(target, [payload], mask_secrets)
        if outcome.again and not outcome.blames_event:
            raise Retry(f"The target is not accepting events: {outcome.trouble}")
        if outcome.again or outcome.refused:
            return "refused"
    return "delivered"


def _payloads(
    bronze: Bronze, sink: Sink, target: Target, row: Mapping[str, Any], mask_secrets: MaskSecrets
) -> list[Payload] | None:
    """Return the payloads of a dead letter, None if its event was removed or its run is no longer silent."""
    source, silence = Source(row["log"], row["incarnation"], row["partition"]), sink.options.silence
    if source == CLOCK:
        by = SilenceQuery(target, bronze, sink.options.only.matches, mask_secrets)
        return (silence and silence_payloads(by, silence, {row["run_id"]: row["sequence"]})) or None
    if source == WATCH:
        return still_present(sink, target, row["event_id"], row["sequence"]) or None
    head = next((head for place, head in heads_of(bronze, row["event_id"], 1) if place == source), None)
    if head is None:
        return None
    body = stored_bodies(bronze, source, [head.sequence])[head.sequence].encode()
    return build_payloads(target, bronze, [SinkEvent(source, head, body)], mask_secrets)
