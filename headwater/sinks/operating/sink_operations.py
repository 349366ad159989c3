"""What people ask of sinks and order them: a list, a preview, a pause, another position, dead letters once more."""

import sys
from collections.abc import Mapping
from typing import Any

from headwater.errors import Retry, WrongQuestion
from headwater.events.position import Source
from headwater.events.times import iso
from headwater.lake.bronze_follower import ahead, heads_of, sources_ahead, stored_bodies
from headwater.lake.bronze_tables import Bronze
from headwater.lake.ownership import EPOCH
from headwater.lake.reported_events import whole_run_id
from headwater.sinks.contract.guarding import Hide, deliver_guarded
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK, WATCH, Payload, SinkEvent, Target
from headwater.sinks.merging.earlier_events import events_at, payloads_of
from headwater.sinks.merging.silence import Asking, silent_again
from headwater.sinks.running.sink_ledger import Ledger, Orders
from headwater.sinks.running.sink_watch import seen_again

_AT_ONCE = 200


def listed(
    types: Mapping[str, str], bronze: Bronze, ledger: Ledger, status: Mapping[str, Any], now_us: int
) -> list[dict[str, Any]]:
    """Return each sink: what it does, how far it lags behind the lake, what became of its events.

    types: of the sinks' targets, by name; status: of the process that runs them, by name; empty where none runs.
    """
    sources = sources_ahead(bronze, {}) if bronze.exists() else {}
    found = []
    for name, kind in types.items():
        events, oldest_us = ahead(bronze, ledger.progress(name, ledger.orders(name), sources))
        behind = {"events": events, "seconds": max(0.0, (now_us - oldest_us) / 1e6) if oldest_us else 0.0}
        listed = _listed(name, ledger, status.get(name))
        if events and listed["state"] == "caught up":
            listed["state"] = "delivering"  # its process said so before these events came
        found.append({"name": name, "type": kind} | listed | {"behind": behind})
    return found


def _listed(sink: str, ledger: Ledger, status: Any) -> dict[str, Any]:
    counts = ledger.counts(sink)
    state = status["state"] if status else "not running"
    ordered = "paused" if ledger.orders(sink).paused else "delivering"
    return {
        "state": ordered if "paused" in (ordered, state) else state,  # its process may not have heard of the order yet
        "delivered": counts.delivered,
        "left_out": counts.left_out,
        "failed": ledger.failed(sink),
        "trouble": status["trouble"] if status else None,
        "next_try": iso(status["next_try_us"]) if status else None,
    }


def paused(ledger: Ledger, sink: str, *, is_paused: bool) -> Orders:
    """Order a sink to stand still, or to go on."""
    orders = Orders(is_paused, (was := ledger.orders(sink)).resets, was.start)
    ledger.order(sink, orders)
    return orders


def reset(ledger: Ledger, sink: str, start: Mapping[Source, int]) -> Orders:
    """Order a sink to go on behind another position; whatever it delivered from there on is delivered again."""
    was = ledger.orders(sink)
    named = {f"{each.epoch}/{each.partition}": sequence for each, sequence in start.items() if sequence}
    orders = Orders(was.paused, was.resets + 1, named)
    ledger.order(sink, orders)
    return orders


def position(bronze: Bronze, ledger: Ledger, sink: str, text: str) -> dict[Source, int]:
    """Read `PARTITION:SEQUENCE`, a place in the log's present epoch: the last event not to be sent again."""
    partition, _, sequence = text.rpartition(":")
    sources = sources_ahead(bronze, {})
    epoch = bronze.properties().get(EPOCH)
    named = next((each for each in sources if (each.partition, each.epoch) == (partition, epoch)), None)
    if named is None or not sequence.isdecimal():
        known = ", ".join(sorted({f"{each.partition}:{head}" for each, head in sources.items()}))
        raise WrongQuestion(f"{text!r} is neither `start`, `now`, a time, nor a position such as {known}.")
    progress = ledger.progress(sink, ledger.orders(sink), sources)
    return {each: progress[each.epoch, each.partition] for each in sources} | {named: int(sequence)}


def preview(bronze: Bronze, target: Target, name: str, hide: Hide = str) -> list[dict[str, Any]]:
    """Return what would be sent of an event, or of the events of a run; nothing is sent."""
    heads = heads_of(bronze, name, _AT_ONCE) or heads_of(bronze, whole_run_id(bronze, name), _AT_ONCE)
    return [
        {"event_id": each.event.head.event_id, "unfit": each.unfit, "payload": each.body.decode()}
        for each in payloads_of(target, bronze, events_at(bronze, heads), hide)
    ]


def redrive(
    bronze: Bronze, ledger: Ledger, sink: Sink, target: Target, most: int = sys.maxsize, *, hide: Hide = str
) -> dict[str, int]:
    """Send a sink's dead letters again, one by one, the oldest first; those that go through are dead no more.

    Returns `delivered`, `refused` and `gone` (their events are no longer in the lake).
    Raises Retry where the target is not there; what was delivered until then counts.
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
                kind = _again(bronze, sink, target, row, hide)
                outcome[kind] += 1
                (skip.add if kind == "refused" else settled.append)(row["event_id"])
        finally:
            if settled:
                ledger.forget(sink.name, settled)
    return outcome


def _again(bronze: Bronze, sink: Sink, target: Target, row: Mapping[str, Any], hide: Hide) -> str:
    payloads = _payloads(bronze, sink, target, row, hide)
    if payloads is None:
        return "gone"
    for payload in payloads:
        if payload.unfit:
            return "refused"
        outcome = deliver_guarded(target, [payload], hide)
        if outcome.again and not outcome.blames_event:
            raise Retry(f"The target does not take events now: {outcome.trouble}")
        if outcome.again or outcome.refused:
            return "refused"
    return "delivered"


def _payloads(bronze: Bronze, sink: Sink, target: Target, row: Mapping[str, Any], hide: Hide) -> list[Payload] | None:
    """Return what a dead letter is sent as, None where its event is gone, or what was silent is not any more."""
    source, silence = Source(row["log"], row["incarnation"], row["partition"]), sink.options.silence
    if source == CLOCK:
        by = Asking(target, bronze, sink.options.only.wants, hide)
        return (silence and silent_again(by, silence, {row["run_id"]: row["sequence"]})) or None
    if source == WATCH:
        return seen_again(sink, target, row["event_id"], row["sequence"]) or None
    head = next((head for place, head in heads_of(bronze, row["event_id"], 1) if place == source), None)
    if head is None:
        return None
    body = stored_bodies(bronze, source, [head.sequence])[head.sequence].encode()
    return payloads_of(target, bronze, [SinkEvent(source, head, body)], hide)
