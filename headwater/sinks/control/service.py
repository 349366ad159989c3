"""Query and control sinks, from commands and over HTTP, whether or not Headwater is running."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from headwater.common.errors import LakeUnavailable, NotConfigured, NotKnown, Retry, WrongQuestion, WrongSetting
from headwater.common.paging import ListPage
from headwater.events.position import Source
from headwater.events.times import iso_time, parse_time
from headwater.lake.bronze_follower import count_unprocessed, heads_by_id, sources_ahead, sources_before, stored_bodies
from headwater.lake.bronze_tables import Bronze
from headwater.lake.ownership import EPOCH
from headwater.lake.reported_events import complete_run_id
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.interface.error_isolation import MaskSecrets, deliver_guarded, escape_control_characters
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import CLOCK, WATCH, Payload, SinkEvent, StoringTarget, Target
from headwater.sinks.interface.sinks_file import SinksSource, load_sinks
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.losses import LossSelection, loss_report
from headwater.sinks.merging.payloads import build_payloads, events_at
from headwater.sinks.running.ledger import SinkLedger
from headwater.sinks.running.polling import notices_if_still_present
from headwater.sinks.running.silence import SilenceQuery, silence_payloads
from headwater.sinks.targets.purview.target import qualified_names

_AT_ONCE = 200


@dataclass(frozen=True)
class SinkService:
    """The sinks of a file and their state in the lake.

    Each call opens what it needs, so any thread may call it and a long call does not block others.
    status: returns the status of the process that runs the sinks, or an empty mapping if no such process runs.
    troubles: returns the reason for each service of this machine that cannot continue, such as `parser`.
    """

    file: Callable[[], SinksSource]
    bronze: Callable[[], Bronze]
    ledger: Callable[[], SinkLedger]
    secrets: Callable[[], Secrets]
    status: Callable[[], Mapping[str, Any]]
    troubles: Callable[[], Mapping[str, str]] = dict

    def sink(self, name: str) -> Sink:
        """Return a sink of the file; raises NotConfigured if it is missing, WrongSetting if its type is broken."""
        named, broken = load_sinks(self.file())
        if name in broken:
            raise WrongSetting(broken[name])
        if name not in named:
            raise NotConfigured("sink", name, sorted(named), "Add it to sinks.yml, or use one of these names.")
        return named[name]

    def list_sinks(self) -> dict[str, Any]:
        """Return the states of the sinks (`items`), and what is wrong with the file or a sink (`problem`, or None)."""
        try:
            sinks, broken = load_sinks(self.file())
            problem = " ".join(broken.values()) or None
            types = {name: sink.options.type for name, sink in sinks.items()}
        except WrongSetting as error:
            problem = str(error)
            types = {name: state["type"] for name, state in self.status().get("sinks", {}).items()}
        return {"problem": problem, "items": self._sink_items(types)}

    def _sink_items(self, types: Mapping[str, str]) -> list[dict[str, Any]]:
        states = self.status().get("sinks", {})
        stopped = self.troubles().get("parser")
        return sink_states(types, self.bronze(), self.ledger(), states, time.time_ns() // 1000, stopped=stopped)

    def set_paused(self, name: str, *, is_paused: bool) -> dict[str, Any]:
        """Pause or resume a sink; returns its status."""
        sink = self.sink(name)
        self.ledger().set_paused(name, is_paused=is_paused)
        return self._sink_items({name: sink.options.type})[0]

    def reset_position(self, name: str, to: str) -> dict[str, Any]:
        """Move a sink to another position; raises WrongQuestion if `to` is not a valid position."""
        self.sink(name)
        bronze, ledger = self.bronze(), self.ledger()
        moment_us, _ = parse_time(to)
        match to:
            case "start":
                start = {}
            case "now":
                start, moment_us = sources_ahead(bronze, {}), time.time_ns() // 1000
            case _ if moment_us is not None:
                start = sources_before(bronze, moment_us)
            case _:
                start = parse_position(bronze, ledger, name, to)
                moment_us = ledger.sink_progress(name, ledger.desired_state(name), [CLOCK])[
                    CLOCK.epoch, CLOCK.partition
                ]
        ledger.reset(name, {**start, CLOCK: moment_us or 0})
        return {"sink": name, "begins_behind": {each.partition: sequence for each, sequence in start.items()}}

    def failures(self, name: str, page: ListPage) -> dict[str, Any]:
        """List a page of dead letters, oldest first by default."""
        self.sink(name)
        found = self.ledger().failures_page(name, page)
        items = [{**row, **{key: iso_time(row[key]) for key in ("received_at", "failed_at")}} for row in found.rows]
        return {"items": items, **found.info}

    def redrive_dead_letters(self, name: str, limit: int) -> dict[str, int]:
        """Send at most `limit` dead letters again; raises Retry if the target is unavailable."""
        sink = self.sink(name)
        with self._open_target(name) as (target, secrets):
            return redrive_failures(self.bronze(), self.ledger(), sink, target, limit, mask_secrets=secrets.mask)

    def check_connection(self, name: str) -> dict[str, Any]:
        """Connect to the target and authenticate; raises Retry or WrongSetting with the cause if that fails."""
        with self._open_target(name) as (target, secrets):
            return {"sink": name, "found": escape_control_characters(secrets.mask(target.check()))}

    def send_test(self, name: str) -> dict[str, Any]:
        """Send a test message to each destination of an alert sink; raises WrongQuestion for another sink."""
        with self._open_target(name) as (target, secrets):
            if not isinstance(target, StoringTarget):
                kind = self.sink(name).options.type
                raise WrongQuestion(f"A sink of type {kind} has no test message. Use `headwater sinks check {name}`.")
            return {"sink": name, "found": escape_control_characters(secrets.mask(target.send_test()))}

    def preview(self, name: str, event_or_run_id: str) -> dict[str, Any]:
        """Return exactly what the sink would send for an event or a run; raises NotKnown if the lake has neither.

        An alert sink takes the id of an incident, or `now` for all that is due.
        """
        with self._open_target(name) as (target, secrets):
            if isinstance(target, StoringTarget):
                return {"items": [_preview_json(each, secrets.mask) for each in target.preview(event_or_run_id)]}
            items = preview_payloads(self.bronze(), target, event_or_run_id, secrets.mask)
        if not items:
            raise NotKnown("event or run", event_or_run_id, (), "List the known events with `headwater events`.")
        return {"items": items}

    def losses(self, name: str, selection: LossSelection) -> dict[str, Any]:
        """Return what a sink's target cannot represent; raises NotKnown for a run that is not in the lake."""
        found = loss_report(self.bronze(), self.sink(name), selection)
        if selection.run is not None and not found["events"] + found["left_out"]:
            raise NotKnown("run", selection.run, (), "List the known events with `headwater events`.")
        return found

    def explain_dataset_name(self, name: str, namespace: str, dataset: str) -> dict[str, Any]:
        """Explain the name of a dataset in a sink's catalog; raises WrongQuestion if the target does not map names."""
        return qualified_names(self.sink(name).options).explain_name(namespace, dataset)

    @contextmanager
    def _open_target(self, name: str) -> Iterator[tuple[Target, Secrets]]:
        """Open a sink's target and close it at the end; mask secrets in the messages of its errors."""
        secrets = self.secrets()
        try:
            with closing(open_sink(self.sink(name), secrets.reveal)) as target:
                if isinstance(target, StoringTarget):
                    target.use_store(self.ledger().target_store(name))
                yield target, secrets
        except Retry as error:
            raise Retry(escape_control_characters(secrets.mask(str(error)))) from None
        except WrongSetting as error:
            raise WrongSetting(escape_control_characters(secrets.mask(str(error)))) from None


def sink_states(
    types: Mapping[str, str],
    bronze: Bronze,
    ledger: SinkLedger,
    status: Mapping[str, Any],
    now_us: int,
    *,
    stopped: str | None = None,
) -> list[dict[str, Any]]:
    """List the sinks with their state, lag and counts.

    types: maps the name of each sink to the type of its target.
    status: maps the name of each sink to the status from the process that runs it; empty if no such process runs.
    stopped: the reason why the parser cannot add new events to the lake, or None. A sink without an error of its own
    shows this reason as its trouble. If the lake cannot be read, such a sink shows that error instead, and the lag is
    the last one that the sink's process measured.
    """
    try:
        sources = sources_ahead(bronze, {}) if bronze.exists() else {}
    except LakeUnavailable as error:
        reason = str(error)
        return [
            {"type": kind} | _stopped_status(ledger, name, status.get(name), now_us, reason)
            for name, kind in types.items()
        ]
    found = []
    for name, kind in types.items():
        behind = count_unprocessed(bronze, ledger.sink_progress(name, ledger.desired_state(name), sources))
        listed = _sink_json(name, ledger, status.get(name))
        if behind[0] and listed["state"] == "caught up":
            listed["state"] = "delivering"  # its process set the state before these events arrived
        if stopped and not listed["trouble"]:
            listed["trouble"] = f"The parser has stopped: {stopped}"
        found.append({"name": name, "type": kind} | listed | {"behind": _lag_json(*behind, now_us)})
    return found


def _stopped_status(ledger: SinkLedger, sink: str, status: Any, now_us: int, reason: str) -> dict[str, Any]:
    """Return the status of a sink, without its type, while the lake cannot be read."""
    listed = _sink_json(sink, ledger, status)
    if listed["state"] in ("caught up", "delivering", "collecting", "starting"):
        listed["state"] = "waiting"
    listed["trouble"] = listed["trouble"] or reason
    lag = _lag_json(status["behind"], status["behind_us"], now_us) if status else _lag_json(0, None, now_us)
    return {"name": sink} | listed | {"behind": lag}


def _lag_json(events: int, oldest_us: int | None, now_us: int) -> dict[str, Any]:
    return {"events": events, "seconds": max(0.0, (now_us - oldest_us) / 1e6) if oldest_us else 0.0}


def _sink_json(sink: str, ledger: SinkLedger, status: Any) -> dict[str, Any]:
    counts = ledger.sink_counts(sink)
    state = status["state"] if status else "not running"
    ordered = "paused" if ledger.desired_state(sink).paused else "delivering"
    return {
        "state": ordered if "paused" in (ordered, state) else state,  # its process may not have read the change yet
        "delivered": counts.delivered,
        "left_out": counts.left_out,
        "failed": ledger.failure_count(sink),
        "trouble": status["trouble"] if status else None,
        "next_try": iso_time(status["next_try_us"]) if status else None,
    }


def parse_position(bronze: Bronze, ledger: SinkLedger, sink: str, text: str) -> dict[Source, int]:
    """Parse `PARTITION:SEQUENCE`, the last event of a partition that the sink does not send again.

    The partition belongs to the log's current epoch; all other partitions keep the sink's position.
    Raises WrongQuestion if the text is not a position.
    """
    partition, _, sequence = text.rpartition(":")
    sources = sources_ahead(bronze, {})
    epoch = bronze.properties().get(EPOCH)
    named = next((each for each in sources if (each.partition, each.epoch) == (partition, epoch)), None)
    if named is None or not sequence.isdecimal():
        known = ", ".join(sorted({f"{each.partition}:{head}" for each, head in sources.items()}))
        raise WrongQuestion(f"{text!r} is not `start`, `now`, a time, or a position such as {known}.")
    progress = ledger.sink_progress(sink, ledger.desired_state(sink), sources)
    return {each: progress[each.epoch, each.partition] for each in sources} | {named: int(sequence)}


def preview_payloads(
    bronze: Bronze, target: Target, name: str, mask_secrets: MaskSecrets = str
) -> list[dict[str, Any]]:
    """Return the payloads of an event, or of the events of a run, without sending them."""
    heads = heads_by_id(bronze, name, _AT_ONCE) or heads_by_id(bronze, complete_run_id(bronze, name), _AT_ONCE)
    return [
        _preview_json(each, mask_secrets)
        for each in build_payloads(target, bronze, events_at(bronze, heads), mask_secrets)
    ]


def _preview_json(payload: Payload, mask_secrets: MaskSecrets) -> dict[str, Any]:
    body = mask_secrets(payload.body.decode())
    return {"event_id": payload.event.head.event_id, "unfit": payload.unfit, "payload": body}


def redrive_failures(
    bronze: Bronze,
    ledger: SinkLedger,
    sink: Sink,
    target: Target,
    limit: int = sys.maxsize,
    *,
    mask_secrets: MaskSecrets = str,
) -> dict[str, int]:
    """Send a sink's dead letters again, one at a time, oldest first, and remove those that are delivered.

    Returns the counts `delivered`, `refused` and `gone` (there is nothing left to send, for example no such event).
    Raises Retry if the target is unavailable; dead letters that were delivered before stay removed.
    """
    outcome = {"delivered": 0, "refused": 0, "gone": 0}
    skip: set[str] = set()
    while left := min(_AT_ONCE, limit - sum(outcome.values())):
        letters = [row for row in ledger.failures(sink.name, left + len(skip)) if row["event_id"] not in skip]
        if not letters:
            break
        settled: list[str] = []
        try:
            for row in letters:
                kind = _resend_dead_letter(bronze, sink, target, row, mask_secrets)
                outcome[kind] += 1
                (skip.add if kind == "refused" else settled.append)(row["event_id"])
        finally:
            if settled:
                ledger.remove_failures(sink.name, settled)
    return outcome


def _resend_dead_letter(
    bronze: Bronze, sink: Sink, target: Target, row: Mapping[str, Any], mask_secrets: MaskSecrets
) -> str:
    payloads = _payloads_of_dead_letter(bronze, sink, target, row, mask_secrets)
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


def _payloads_of_dead_letter(
    bronze: Bronze, sink: Sink, target: Target, row: Mapping[str, Any], mask_secrets: MaskSecrets
) -> list[Payload] | None:
    """Return the payloads of a dead letter, or None if its cause no longer exists.

    That is the case if the event was removed, the run is no longer silent, or a poll no longer finds the item.
    """
    source, silence = Source(row["log"], row["incarnation"], row["partition"]), sink.options.silence
    if source == CLOCK:
        by = SilenceQuery(target, bronze, sink.options.only.matches, mask_secrets)
        return (silence and silence_payloads(by, silence, {row["run_id"]: row["sequence"]})) or None
    if source == WATCH:
        return notices_if_still_present(sink, target, row["event_id"], row["sequence"]) or None
    head = next((head for place, head in heads_by_id(bronze, row["event_id"], 1) if place == source), None)
    if head is None:
        return None
    body = stored_bodies(bronze, source, [head.sequence])[head.sequence].encode()
    return build_payloads(target, bronze, [SinkEvent(source, head, body)], mask_secrets)
