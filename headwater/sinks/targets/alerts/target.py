"""The target of all sinks of alerts: query, plan, claim, send and store, one message at a time.

Before an instance sends, it stores a claim; after that, it stores what it sent. Each of these commits fails if another
instance stored something since this one read the state, so two instances never send the same message while both run.
If the process is killed between sending and storing, the message is sent again: at least once, because a lost alert is
worse than a repeated one.
"""

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
from headwater.sinks.targets.alerts.planning import Due, Plan, earliest_us, incident_us, plan
from headwater.sinks.targets.alerts.routing import destinations
from headwater.sinks.targets.alerts.server import IncidentsClient, ReportedIncident
from headwater.sinks.targets.alerts.station_state import (
    Claim,
    Entry,
    StationState,
    content_digest,
    decode_state,
    encode_state,
    subject_digest,
)
from headwater.sinks.targets.alerts.text import AlertText, incident_text, incident_title, list_text
from headwater.sinks.targets.webhook.server import BrokenContract

_CLAIM_S = 60.0
"""Seconds that a claim lasts in addition to twice the timeout of a request."""
_US = 1_000_000


class Message(NamedTuple):
    """A message to send. due: what it is about. text: what it says. page: address of the dashboard."""

    due: Due
    text: AlertText
    page: str


class Sent(NamedTuple):
    """A message that the target accepted. reference, place: by which later messages refer to it, "" if they cannot."""

    reference: str = ""
    place: str = ""


class Channel(Protocol):
    """One kind of target for messages. Not thread-safe."""

    edits: bool
    """Whether it can change a message that it sent."""

    def render(self, message: Message) -> bytes:
        """Return exactly what is sent, within the limits of the target."""

    def send(self, message: Message) -> Sent | Outcome:
        """Try once to send a message; returns the outcome of a failure."""

    def send_test(self, to: str) -> Sent | Outcome:
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
                return self._payloads(found.due, at_us)

    def poll(self, at_us: int, _: int) -> Mapping[str, Sequence[Payload]]:
        """Return a message for each incident of the last day, as if nothing had been sent."""
        due = [
            _announcement(each, to) for each in self._recent(at_us) for to in destinations(self._options.routes, each)
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
        after_us = earliest_us(state, self._options, not_before_us)
        asked = self._plan(state, incidents, at_us, not_before_us)
        contracts = self._incidents.fetch_broken_contracts()
        due = {entry.key: each for each in asked.due for entry in each.entries}
        found: list[Payload] = []
        shown = set[str]()
        for incident in wanted:
            goes_to = destinations(self._options.routes, incident)
            if not goes_to:
                found.append(self._payload(_announcement(incident, ""), at_us, "no route matches", contracts))
            for to in goes_to:
                key = (incident.id, to)
                message = due.get(key) or _announcement(incident, to)
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
            return result if isinstance(result, Outcome) else Outcome()
        sent = self._unstored.get(message.due.id)
        if sent is None:
            wait = self._claim(message)
            if wait is not None:
                return wait
            result = self._channel.send(message)
            reach_failpoint("alerts.sent")
            if isinstance(result, Outcome):
                if result.refused:
                    self._record(message.due, None)
                return result
            sent = self._unstored[message.due.id] = result
        self._record(message.due, sent)
        del self._unstored[message.due.id]
        return Outcome()

    def settle(self, payloads: Sequence[Payload]) -> None:
        """Store that messages which the sink gave up are not tried again."""
        state = decode_state(self._required_store().read())
        for payload in payloads:
            message = self._planned.pop(payload.event.head.event_id, None)
            if message and state and not _is_settled(state, message.due):
                self._record(message.due, None)

    def send_test(self) -> str:
        """Send a test message to each destination; raises Retry if one does not accept it."""
        named = list(dict.fromkeys(to for route in self._options.routes for to in route.to)) or [""]
        for to in named:
            result = self._channel.send_test(to)
            if isinstance(result, Outcome):
                raise Retry(f"{to or 'The target'} did not accept the test message: {_fault(result)}")
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
            if claim and claim.owner != self._owner and claim.until_us > at_us:
                return retry_all(1, "another instance is sending", after_s=min(1.0, (claim.until_us - at_us) / 1e6))
            if claim and claim.owner == self._owner and claim.until_us > at_us + timeout_us + 5 * _US:
                return None
            mine = Claim(self._owner, at_us + 2 * timeout_us + int(_CLAIM_S * _US))
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
            if store.replace(text, encode_state(after)):
                return


def message_text(due: Due, contracts: Sequence[BrokenContract], page: str) -> AlertText:
    """Return what a message says."""
    titles = [("Resolved: " if each.is_resolved else "") + each.title for each in due.entries]
    if due.kind == "summary":
        severity = "error" if any(each.severity == "error" for each in due.incidents) else "warning"
        return list_text(f"{len(titles)} incidents were held back", titles, severity, page)
    if len(due.entries) == len(due.incidents) == 1:
        return incident_text(due.incidents[0], contracts, page)
    title = titles[0] if len(titles) == 1 else f"Resolved: {len(titles)} incidents"
    return list_text(title, [each.title for each in due.entries], "warning", page, is_resolved=True)


def open_alert_target(options: AlertOptions, channel: Channel, reveal: SecretResolver) -> AlertTarget:
    """Return the target of a channel; raises WrongSetting if a secret is missing."""
    server = options.headwater
    return AlertTarget(options, channel, IncidentsClient(open_poster(server, reveal), server.url))


def _announcement(incident: ReportedIncident, to: str) -> Due:
    entry = Entry(
        incident.id, to, subject_digest(incident), incident_us(incident.opened), "sent", incident_title(incident),
        content=content_digest(incident), is_resolved=incident.is_resolved,
    )  # fmt: skip
    return Due("resolved" if incident.is_resolved else "opened", to, (entry,), (incident,))


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
        return known.state == "sent"
    return known.is_resolved or (due.kind == "changed" and known.content == wanted.content)


def _with_reference(entry: Entry, due: Due, sent: Sent) -> Entry:
    """Return an entry with the message to which updates belong: the first one about the incident."""
    if due.kind in ("opened", "summary"):
        return msgspec.structs.replace(entry, reference=sent.reference, place=sent.place)
    return entry


def _given_up(entry: Entry, due: Due) -> Entry:
    """Return the entry of a message that is not tried again; a change or a resolution counts as sent."""
    return msgspec.structs.replace(entry, state="given up") if due.kind in ("opened", "summary") else entry


def _fault(outcome: Outcome) -> str:
    return outcome.trouble or next(iter(outcome.refused.values()), "unknown fault")
