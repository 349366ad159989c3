"""The target of all sinks of alerts: query, plan, claim, send and store, one message at a time.

Before an instance sends, it stores a claim; after that, it stores what it sent. Each of these commits fails if another
instance stored something since this one read the state, so two instances never send the same message while both run.
If the process is killed between sending and storing, the message is sent again: at least once, because a lost alert is
worse than a repeated one.
"""

import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from headwater.common.errors import NotKnown, Retry
from headwater.common.failpoints import reach_failpoint
from headwater.events.stored_cells import StoredHead
from headwater.sinks.connecting.http import open_poster
from headwater.sinks.interface.options import SecretResolver
from headwater.sinks.interface.shape import WATCH, Outcome, Payload, SinkEvent, TargetStore, retry_all
from headwater.sinks.interface.support import ItemSupport, SupportTable
from headwater.sinks.targets.alerts.options import AlertOptions
from headwater.sinks.targets.alerts.planning import Due, Plan, earliest_us, new_entry, plan
from headwater.sinks.targets.alerts.routing import destinations
from headwater.sinks.targets.alerts.server import IncidentsClient, ReportedIncident
from headwater.sinks.targets.alerts.station_state import (
    Claim,
    Entry,
    StationState,
    decode_state,
    encode_state,
)
from headwater.sinks.targets.alerts.text import AlertText, incident_text, list_text
from headwater.sinks.targets.webhook.server import BrokenContract

_CLAIM_S = 60.0
"""Seconds that a claim lasts in addition to twice the timeout of a request."""
_US = 1_000_000
_LATER_US, _GIVE_UP_US = 300 * _US, 4 * 3_600 * _US
"""Wait before a postponed message is sent again, and how long this goes on. Greylisting asks for 1 to 15 minutes."""
log = logging.getLogger(__name__)


class Message(NamedTuple):
    """A message to send. due: what it is about. text: what it says. page: address of the dashboard."""

    due: Due
    text: AlertText
    page: str


class Sent(NamedTuple):
    """A message that the target accepted. reference, place: by which later messages refer to it, "" if they cannot."""

    reference: str = ""
    place: str = ""


class _Postponed(NamedTuple):
    """When a message was planned first, and when it is planned next (us, UTC)."""

    first_us: int
    next_us: int


class Later(NamedTuple):
    """A destination that asks to try again in some minutes, while others accept messages. reason: what it responded."""

    reason: str


class Channel(Protocol):
    """One kind of target for messages. Not thread-safe."""

    edits: bool
    """Whether it can change a message that it sent."""

    def render(self, message: Message) -> bytes:
        """Return exactly what is sent, within the limits of the target."""

    def send(self, message: Message) -> Sent | Later | Outcome:
        """Try once to send a message; returns the outcome of a failure."""

    def send_test(self, to: str) -> Sent | Later | Outcome:
        """Try once to send a test message to a destination."""

    def check(self) -> str:
        """Connect and authenticate without sending; returns a description, raises HeadwaterError on failure."""

    def close(self) -> None:
        """Close the connections."""


def support_table(_: object) -> SupportTable:
    """Return what alerts can represent of events: nothing, because they report incidents."""
    return (ItemSupport("*", "*", "not", "messages report incidents, not events"),)


class AlertTarget:
    """Sends messages about incidents through a channel."""

    largest = 1

    def __init__(self, options: AlertOptions, channel: Channel, incidents: IncidentsClient) -> None:
        """Set up without connecting."""
        self._options = options
        self._channel = channel
        self._incidents = incidents
        self._page = (options.page or options.headwater.url).rstrip("/")
        self._store: TargetStore | None = None
        self._owner = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._planned: dict[str, Message] = {}
        self._unstored: dict[str, Sent] = {}
        self._postponed: dict[str, _Postponed] = {}
        self._due: set[str] = set()

    def use_store(self, store: TargetStore) -> None:
        """Use a store; without one, each payload is sent."""
        self._store = store

    def convert(self, _: Sequence[SinkEvent]) -> list[Payload]:
        """Return nothing, because messages are not about single events."""
        return []

    def new_payloads(self, at_us: int) -> list[Payload]:
        """Query the incidents, store which ones are held back, and return the messages that are due."""
        store = self._required_store()
        while (state := decode_state(store.read())) is None:
            store.replace(None, encode_state(StationState(at_us, at_us)))
        since_us = min(state.queried_us, at_us) - int(self._options.max_lateness * 1e6)
        incidents = self._incidents.fetch(since_us)
        while True:
            text = store.read()
            state = decode_state(text) or state
            found = self._plan(state, incidents, at_us, store.not_before_us())
            after = encode_state(found.state)
            if after == text or store.replace(text, after):  # else another instance was faster
                self._due = {each.id for each in found.due}
                self._postponed = {key: each for key, each in self._postponed.items() if key in self._due}
                return self._payloads([each for each in found.due if not self._waits(each, at_us)], at_us)

    def poll(self, at_us: int, _: int) -> Mapping[str, Sequence[Payload]]:
        """Return a message for each incident of the last day, as if nothing had been sent."""
        state = decode_state(self._store.read()) if self._store else None
        known = {each.key: each for each in state.entries} if state else {}
        due = [
            _announcement(each, to, known.get((each.id, to)))
            for each in self._recent(at_us)
            for to in destinations(self._options.routes, each)
        ]
        return {"incidents": self._payloads(due, at_us)}

    def preview(self, item: str) -> list[Payload]:
        """Return the messages about an incident, or with `now` about all that are known, each with its state."""
        at_us = time.time_ns() // 1000
        store = self._store
        state = (decode_state(store.read()) if store else None) or StationState(at_us, at_us)
        not_before_us = store.not_before_us() if store else 0
        known = {each.key: each for each in state.entries}
        incidents = self._recent(at_us)
        wanted = [each for each in incidents if item in ("now", each.id)]
        if not wanted and item != "now":
            raise NotKnown("incident", item, (), "List the incidents with `headwater incidents`, or use `now`.")
        asked = self._plan(state, incidents, at_us, not_before_us)
        contracts = self._incidents.fetch_broken_contracts()
        due = {entry.key: each for each in asked.due for entry in each.entries}
        found: list[Payload] = []
        shown = set[str]()
        for incident in wanted:
            goes_to = destinations(self._options.routes, incident)
            if not goes_to:
                found.append(self._payload(_announcement(incident, ""), at_us, "no route matches", contracts))
            after_us = earliest_us(state, self._options, not_before_us, incident)
            for to in goes_to:
                key = (incident.id, to)
                message = due.get(key) or _announcement(incident, to, known.get(key))
                if message.id not in shown:  # a summary is about several incidents
                    why = None if key in due else _reason(known.get(key), message.entries[0], after_us)
                    found.append(self._payload(message, at_us, why, contracts))
                shown.add(message.id)
        return found

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Claim, send and store one message, unless it was sent already."""
        (payload,) = payloads
        message = self._planned[payload.event.head.event_id]
        if self._store is None:
            result = self._channel.send(message)
            if isinstance(result, Later):
                return retry_all(1, result.reason, blames_event=True)
            return result if isinstance(result, Outcome) else Outcome()
        sent = self._unstored.get(message.due.id)
        if sent is None:
            wait = self._claim(message)
            if wait is not None:
                return wait
            result = self._channel.send(message)
            reach_failpoint("alerts.sent")
            if isinstance(result, Later):
                return self._postpone(message.due, payload.event.head.sequence, result.reason)
            if isinstance(result, Outcome):
                return result  # `settle` stores that it was given up, after the dead letter is stored
            sent = self._unstored[message.due.id] = result
        self._record(message.due, sent)
        del self._unstored[message.due.id]
        return Outcome()

    def settle(self, payloads: Sequence[Payload]) -> None:
        """Store that messages which the sink gave up are not tried again."""
        state = decode_state(self._required_store().read())
        for payload in payloads:
            message = self._planned.pop(payload.event.head.event_id, None)
            is_left = message is not None and message.due.id in self._postponed
            if message and state and not is_left and not _is_settled(state, message.due):
                self._record(message.due, None)

    def send_test(self) -> str:
        """Send a test message to each destination; raises Retry if one does not accept it."""
        named = list(dict.fromkeys(to for route in self._options.routes for to in route.to)) or [""]
        for to in named:
            result = self._channel.send_test(to)
            if not isinstance(result, Sent):
                why = result.reason if isinstance(result, Later) else _fault(result)
                raise Retry(f"{to or 'The target'} did not accept the test message: {why}")
        return f"a test message to {', '.join(to or 'the target' for to in named)}"

    def check(self) -> str:
        """Query the incidents and check the channel, without sending."""
        found = self._recent(time.time_ns() // 1000)
        routed = sum(bool(destinations(self._options.routes, each)) for each in found)
        return f"{len(found)} incidents of the last day, {routed} with a route; {self._channel.check()}"

    def close(self) -> None:
        """Close the connections."""
        self._channel.close()
        self._incidents.close()

    def _waits(self, due: Due, at_us: int) -> bool:
        """Return whether the destination of a message asked to try later."""
        known = self._postponed.get(due.id)
        return known is not None and known.first_us <= at_us < known.next_us

    def _postpone(self, due: Due, at_us: int, reason: str) -> Outcome:
        """Plan a message again in some minutes, and refuse it after some hours. at_us: when it was planned."""
        known = self._postponed.pop(due.id, None)
        if due.id not in self._due:  # of a dead letter
            return retry_all(1, reason, blames_event=True)
        first_us = known.first_us if known else at_us
        if at_us >= first_us + _GIVE_UP_US:
            return Outcome(refused={0: reason})
        self._postponed[due.id] = _Postponed(first_us, at_us + _LATER_US)
        log.info("A message is sent again in five minutes: %s", reason)
        return Outcome()

    def _required_store(self) -> TargetStore:
        assert self._store  # noqa: S101 - the runner sets it
        return self._store

    def _recent(self, at_us: int) -> list[ReportedIncident]:
        return self._incidents.fetch(at_us - 86_400 * _US)

    def _plan(self, state: StationState, incidents: Sequence[ReportedIncident], at_us: int, not_before_us: int) -> Plan:
        edits = self._channel.edits
        return plan(state, incidents, self._options, at_us=at_us, not_before_us=not_before_us, edits=edits)

    def _payloads(self, due: Sequence[Due], at_us: int) -> list[Payload]:
        contracts = self._incidents.fetch_broken_contracts() if due else ()
        return [self._payload(each, at_us, None, contracts) for each in due]

    def _payload(self, due: Due, at_us: int, unfit: str | None, contracts: Sequence[BrokenContract] = ()) -> Payload:
        message = Message(due, message_text(due, contracts, self._page), self._page)
        self._planned[due.id] = message
        namespace = due.incidents[0].subject.namespace if due.incidents else ""
        head = StoredHead(at_us, due.id, at_us, "RUN", None, None, namespace, due.entries[0].incident, 0)
        return Payload(SinkEvent(WATCH, head, b""), self._channel.render(message), unfit)

    def _claim(self, message: Message) -> Outcome | None:
        """Claim the right to send; returns an outcome if the message was sent or another instance is sending."""
        store, timeout_us = self._required_store(), int(self._options.timeout * _US)
        while True:
            text = store.read()
            state = decode_state(text) or StationState(0, 0)
            if _is_settled(state, message.due):
                return Outcome()
            at_us = time.time_ns() // 1000
            claim = state.claim
            longest_us = 2 * timeout_us + int(_CLAIM_S * _US)
            is_wrong = claim is not None and claim.until_us > at_us + longest_us + 5 * _US  # a clock was ahead
            is_valid = claim is not None and claim.until_us > at_us and not is_wrong
            if claim and claim.owner != self._owner and is_valid:
                return retry_all(1, "another instance is sending", after_s=min(1.0, (claim.until_us - at_us) / 1e6))
            if claim and claim.owner == self._owner and is_valid and claim.until_us > at_us + longest_us * 3 // 4:
                return None
            mine = Claim(self._owner, at_us + longest_us)
            if store.replace(text, encode_state(msgspec.structs.replace(state, claim=mine))):
                return None

    def _record(self, due: Due, sent: Sent | None) -> None:
        """Store that a message was sent, or None: that it was given up. The claim ends."""
        store, at_us = self._required_store(), time.time_ns() // 1000
        entries = {each.key: each if sent is None else _with_reference(each, due, sent) for each in due.entries}
        if sent is None:
            entries = {key: _given_up(each, due) for key, each in entries.items()}
        while True:
            text = store.read()
            state = decode_state(text) or StationState(0, 0)
            mine = state.claim is None or state.claim.owner == self._owner
            after = msgspec.structs.replace(state, claim=None if mine else state.claim).with_entries(entries)
            if sent is not None and due.counts:
                after = after.with_message(due.to, at_us)
            if due.kind == "summary":
                left = {to: count for to, count in after.dropped_held.items() if to != due.to}
                after = msgspec.structs.replace(after, dropped_held=left)
            if store.replace(text, encode_state(after)):
                return


_END_MARKS = {"": "", "resolved": "Resolved: ", "unlisted": "No longer listed: "}
_UNLISTED = "The server does not list it any more: it has ended, or belongs to another incident."
_ELSEWHERE = "The server does not list it any more. An open incident about the same jobs or datasets:"


def message_text(due: Due, contracts: Sequence[BrokenContract], page: str) -> AlertText:
    """Return what a message says."""
    names = [each.title or "an incident whose name was erased" for each in due.entries]
    titles = [_END_MARKS[each.end] + name for each, name in zip(due.entries, names, strict=True)]
    severity = "error" if any(each.severity == "error" for each in due.incidents) else "warning"
    if due.kind == "summary":
        count = len(titles) + due.more
        title = f"{count} incidents were held back" if count > 1 else "1 incident was held back"
        return list_text(title, titles, severity, page, more=due.more)
    if due.kind == "unlisted":
        mark = _END_MARKS["unlisted"]
        see = [f"See: {title}" for title in due.elsewhere]
        one, many = (titles[0], see), (f"{mark}{len(titles)} incidents", [*names, *see])
        title, lines = one if len(titles) == 1 else many
        summary = _ELSEWHERE if see else _UNLISTED
        return list_text(title, lines, "warning", page)._replace(summary=summary)
    if len(due.entries) == len(due.incidents) == 1:
        return incident_text(due.incidents[0], contracts, page)
    title = titles[0] if len(titles) == 1 else f"Resolved: {len(titles)} incidents"
    return list_text(title, names, "warning", page, is_resolved=True)


def open_alert_target(options: AlertOptions, channel: Channel, reveal: SecretResolver) -> AlertTarget:
    """Return the target of a channel; raises WrongSetting if a secret is missing."""
    server = options.headwater
    return AlertTarget(options, channel, IncidentsClient(open_poster(server, reveal), server.url))


def _announcement(incident: ReportedIncident, to: str, known: Entry | None = None) -> Due:
    """Return the message that an incident has now. known: its stored entry, for its turn and its thread."""
    entry = new_entry(incident, to, known.turn if known else 0)
    if not incident.is_resolved:
        return Due("opened", to, (entry,), (incident,))
    reference, place = (known.reference, known.place) if known else ("", "")
    entry = msgspec.structs.replace(entry, is_resolved=True, end="resolved", reference=reference, place=place)
    return Due("resolved", to, (entry,), (incident,), reference, place)


def _reason(known: Entry | None, entry: Entry, after_us: int) -> str:
    """Return why an incident has no message now."""
    if known is not None and known.state == "given up":
        return "given up, see `headwater sinks failures`"
    if known is not None and known.state == "sent":
        return "already sent"
    if entry.opened_us <= after_us:
        return "opened before the time from which this sink sends"
    if known is None and entry.is_resolved:
        return "resolved before it was seen"
    return "held back by quiet hours or by the limit"


def _is_settled(state: StationState, due: Due) -> bool:
    """Return whether a message was sent."""
    known = {each.key: each for each in state.entries}
    return all((entry := known.get(each.key)) is not None and _is_stored(entry, each, due) for each in due.entries)


def _is_stored(known: Entry, wanted: Entry, due: Due) -> bool:
    if due.kind in ("opened", "summary"):
        return known.state == "sent" and known.turn >= wanted.turn
    if due.kind == "changed":
        return known.is_resolved or (known.content == wanted.content and known.turn >= wanted.turn)
    return known.is_resolved and not known.is_end_given_up


def _with_reference(entry: Entry, due: Due, sent: Sent) -> Entry:
    """Return an entry with the message to which updates belong: the first one about the incident."""
    if due.kind in ("opened", "summary"):
        return msgspec.structs.replace(entry, reference=sent.reference, place=sent.place)
    return entry


def _given_up(entry: Entry, due: Due) -> Entry:
    """Return the entry of a message that is not tried again; a change or a resolution counts as sent."""
    if due.kind in ("opened", "summary"):
        return msgspec.structs.replace(entry, state="given up")
    return msgspec.structs.replace(entry, is_end_given_up=due.kind != "changed")


def _fault(outcome: Outcome) -> str:
    return outcome.trouble or next(iter(outcome.refused.values()), "unknown fault")
