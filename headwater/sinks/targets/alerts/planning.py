"""Decide which messages are due: a pure function of what was sent, the incidents and a moment."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from headwater.events.times import parse_time
from headwater.sinks.targets.alerts.options import AlertOptions
from headwater.sinks.targets.alerts.routing import destinations, is_quiet
from headwater.sinks.targets.alerts.server import ReportedIncident
from headwater.sinks.targets.alerts.station_state import (
    HOUR_US,
    Entry,
    StationState,
    content_digest,
    digest,
    subject_digest,
)
from headwater.sinks.targets.alerts.text import incident_title

MAX_ENTRIES = 5_000
"""Maximum number of stored entries, except held ones. The oldest are dropped first, and get no further updates."""

MessageKind = Literal["opened", "changed", "resolved", "summary"]


class Due(NamedTuple):
    """A message that is due.

    entries: the entries to store when it is sent; those of a new message have no reference and place yet. incidents:
    those of the entries that are still listed. reference, place: the message to which it belongs, "" for a new one.
    """

    kind: MessageKind
    to: str
    entries: tuple[Entry, ...]
    incidents: tuple[ReportedIncident, ...]
    reference: str = ""
    place: str = ""

    @property
    def id(self) -> str:
        """Return an id that distinguishes the message from others, also from those of other sinks."""
        if self.kind == "summary":
            return f"summary-{digest(self.to, sorted(each.incident for each in self.entries))}"
        content = self.entries[0].content if self.kind == "changed" else ""
        more = digest(self.to, sorted(each.incident for each in self.entries), content)
        return f"{self.entries[0].incident}-{self.kind}-{more}"

    @property
    def counts(self) -> bool:
        """Return whether the message counts against the limit; an edit notifies no one."""
        return self.kind != "changed"


class Plan(NamedTuple):
    """The messages that are due, the most urgent first, and the state to store before they are sent."""

    due: list[Due]
    state: StationState


class _Candidate(NamedTuple):
    """An incident to announce at a destination. incident: None if it is held and no longer listed."""

    entry: Entry
    incident: ReportedIncident | None


def earliest_us(state: StationState, options: AlertOptions, not_before_us: int) -> int:
    """Return the moment (us, UTC) after which an unknown incident must have opened to be sent."""
    return max(state.begun_us, not_before_us, state.queried_us - int(options.max_lateness * 1e6))


def plan(
    state: StationState,
    incidents: Sequence[ReportedIncident],
    options: AlertOptions,
    *,
    at_us: int,
    not_before_us: int = 0,
    edits: bool = False,
) -> Plan:
    """Return the messages that are due at a moment (us, UTC).

    not_before_us: earlier openings and resolutions of incidents are not sent. edits: whether the target can edit a
    message after sending it.
    """
    listed = {each.id: each for each in incidents}
    state = _follow_changed_ids(state, listed)
    known = {each.key: each for each in state.entries}
    after_us = earliest_us(state, options, not_before_us)
    new: dict[str, list[_Candidate]] = defaultdict(list)
    for incident in incidents:
        opened_us = incident_us(incident.opened)
        if opened_us <= after_us or incident.is_resolved:
            continue
        for to in destinations(options.routes, incident):
            if (incident.id, to) not in known:
                content, title = content_digest(incident), incident_title(incident)
                entry = Entry(incident.id, to, subject_digest(incident), opened_us, "sent", title, content=content)
                new[to].append(_Candidate(entry, incident))
    held: dict[str, list[_Candidate]] = defaultdict(list)
    for entry in state.entries:
        if entry.state == "held":
            held[entry.to].append(_Candidate(entry, listed.get(entry.incident)))
    due: list[Due] = []
    changed: dict[tuple[str, str], Entry] = {}
    for to in sorted({*new, *held}):
        room = options.max_per_hour - state.sent_in_last_hour(to, at_us)
        opened, kept = _announcements(to, new[to], held[to], options, room=room, at_us=at_us)
        due += opened
        changed |= {entry.key: entry for entry in kept}
    resolved, quietly = _resolutions(state, listed, not_before_us)
    changed |= quietly
    used = Counter(each.to for each in due)
    for message in resolved:
        room = options.max_per_hour - state.sent_in_last_hour(message.to, at_us) - used[message.to]
        severities = {each.severity for each in message.incidents} or {"warning"}
        if room > 0 and not all(is_quiet(options.quiet_hours, each, at_us) for each in severities):
            due.append(message)
            used[message.to] += 1
    if edits:
        due += _changes(state, listed)
    state = _without_old(state.with_entries(changed), {*listed}, after_us)
    if at_us >= state.queried_us + HOUR_US:  # not each time, because each new value costs a commit
        state = msgspec.structs.replace(state, queried_us=at_us)
    return Plan(due, state)


def incident_us(text: str) -> int:
    """Return a time of an incident (us, UTC), 0 if it is not valid."""
    return parse_time(text)[0] or 0


def _announcements(
    to: str,
    new: Sequence[_Candidate],
    held: Sequence[_Candidate],
    options: AlertOptions,
    *,
    room: int,
    at_us: int,
) -> tuple[list[Due], list[Entry]]:
    """Return the messages about incidents that were not announced at a destination, and the entries to hold.

    room: number of messages that the limit allows now.
    """
    now, later = list[_Candidate](), list[_Candidate]()
    for each in sorted(new, key=_urgency):
        assert each.incident  # noqa: S101 - a new incident is listed
        (later if is_quiet(options.quiet_hours, each.incident.severity, at_us) else now).append(each)
    waiting = [
        each for each in held if not (each.incident and is_quiet(options.quiet_hours, each.incident.severity, at_us))
    ]
    if len(waiting) == 1 and waiting[0].incident and not waiting[0].incident.is_resolved:
        now, waiting = [*now, *waiting], []
    single = now[: max(0, room - (1 if waiting or len(now) > room else 0))]
    waiting += now[len(single) :]
    due = [Due("opened", to, (_sent(each),), (each.incident,)) for each in single if each.incident]
    if waiting and room > len(single):
        entries = tuple(msgspec.structs.replace(_sent(each), is_summarised=True) for each in waiting)
        due.append(Due("summary", to, entries, tuple(each.incident for each in waiting if each.incident)))
        waiting = []
    known = {each.entry.key for each in held}
    kept = [each for each in (*later, *waiting) if each.entry.key not in known]
    return due, [msgspec.structs.replace(each.entry, state="held") for each in kept]


def _urgency(each: _Candidate) -> tuple[bool, int, int]:
    incident = each.incident
    return (
        incident is None or incident.severity != "error",
        -(incident.affectedCount if incident else 0),
        each.entry.opened_us,
    )


def _sent(each: _Candidate) -> Entry:
    """Return the entry of an incident that is announced now; a summary names a resolved one as resolved."""
    incident = each.incident
    content = content_digest(incident) if incident else each.entry.content
    is_resolved = incident is None or incident.is_resolved
    return msgspec.structs.replace(each.entry, state="sent", content=content, is_resolved=is_resolved)


def _resolutions(
    state: StationState, listed: Mapping[str, ReportedIncident], not_before_us: int
) -> tuple[list[Due], dict[tuple[str, str], Entry]]:
    """Return the messages about ended incidents, one for each message to which they belong.

    An incident that is no longer listed has ended. One that was resolved before `not_before_us` has no message.
    """
    together: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
    quietly: dict[tuple[str, str], Entry] = {}
    for entry in state.entries:
        incident = listed.get(entry.incident)
        if entry.state != "sent" or entry.is_resolved or (incident and not incident.is_resolved):
            continue
        content = content_digest(incident) if incident else entry.content
        ended = msgspec.structs.replace(entry, is_resolved=True, content=content)
        if incident and incident_us(incident.resolved or "") <= not_before_us:
            quietly[entry.key] = ended
        else:
            alone = "" if entry.is_summarised else entry.incident
            together[entry.to, entry.reference, alone].append(ended)
    due = []
    for (to, reference, _), entries in together.items():
        known = tuple(incident for each in entries if (incident := listed.get(each.incident)))
        due.append(Due("resolved", to, tuple(entries), known, reference, entries[0].place))
    return due, quietly


def _changes(state: StationState, listed: Mapping[str, ReportedIncident]) -> list[Due]:
    """Return the messages to change because their open incident has changed."""
    due = []
    for entry in state.entries:
        incident = listed.get(entry.incident)
        is_own = entry.state == "sent" and entry.reference and not entry.is_summarised
        if is_own and not entry.is_resolved and incident and not incident.is_resolved:
            content = content_digest(incident)
            if content != entry.content:
                after = msgspec.structs.replace(entry, content=content)
                due.append(Due("changed", entry.to, (after,), (incident,), entry.reference, entry.place))
    return due


def _follow_changed_ids(state: StationState, listed: Mapping[str, ReportedIncident]) -> StationState:
    """Give entries whose incident is no longer listed the id of an unknown incident with the same kind and subject.

    A late event that changes the first cause changes the id, and an upgrade may change it.
    """
    known = {each.incident for each in state.entries}
    unknown: dict[str, list[ReportedIncident]] = defaultdict(list)
    for incident in listed.values():
        if incident.id not in known:
            unknown[subject_digest(incident)].append(incident)
    if not unknown:
        return state
    entries, renamed = [], dict[str, str]()
    for entry in state.entries:
        is_lost = entry.incident not in listed and not entry.is_resolved and entry.incident not in renamed
        if is_lost and (candidates := unknown.get(entry.subject)):
            renamed[entry.incident] = candidates.pop(0).id
        entries.append(msgspec.structs.replace(entry, incident=renamed.get(entry.incident, entry.incident)))
    return msgspec.structs.replace(state, entries=tuple(entries)) if renamed else state


def _without_old(state: StationState, listed: set[str], after_us: int) -> StationState:
    """Drop entries that no longer matter: resolved and too old to be sent as new, and the oldest above MAX_ENTRIES.

    `begun_us` moves to the newest entry that is dropped because of the maximum, so that it is not sent as new.
    """
    kept = [
        each
        for each in state.entries
        if each.state == "held" or each.opened_us > after_us or (not each.is_resolved and each.incident in listed)
    ]
    begun_us = state.begun_us
    if len(kept) > MAX_ENTRIES:
        begun_us = max(begun_us, sorted(each.opened_us for each in kept)[-MAX_ENTRIES - 1])
        kept = [each for each in kept if each.state == "held" or each.opened_us > begun_us]
    if len(kept) == len(state.entries):
        return state
    return msgspec.structs.replace(state, entries=tuple(kept), begun_us=begun_us)
