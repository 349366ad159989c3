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
    EntryEnd,
    StationState,
    content_digest,
    digest,
    involved_digests,
    subject_digest,
)
from headwater.sinks.targets.alerts.text import incident_title

MAX_ENTRIES = 5_000
"""Maximum number of stored entries, except held ones. Ended ones, then the oldest, are dropped, and get no updates."""

MAX_HELD = 2_000
"""Maximum number of stored entries that are held. The summary counts those that are dropped."""

_GAP_US = 7 * 24 * HOUR_US
"""A late write is detected up to a week after the grace period, because of a similar gap a week before."""

_SKEW_US = HOUR_US // 12
"""How far a stored moment may be in the future, because two clocks differ."""

_RETURN_US = 31 * 24 * HOUR_US
"""How long an incident that is no longer listed is known, so that its return is announced."""

MessageKind = Literal["opened", "changed", "resolved", "unlisted", "summary"]


class Due(NamedTuple):
    """A message that is due.

    entries: the entries to store when it is sent; those of a new message have no reference and place yet. incidents:
    those of the entries that are still listed. reference, place: the message to which it belongs, "" for a new one.
    elsewhere: titles of open incidents about the same jobs or datasets, if the entries are no longer listed. more:
    number of incidents that a summary counts without entries.
    """

    kind: MessageKind
    to: str
    entries: tuple[Entry, ...]
    incidents: tuple[ReportedIncident, ...]
    reference: str = ""
    place: str = ""
    elsewhere: tuple[str, ...] = ()
    more: int = 0

    @property
    def id(self) -> str:
        """Return an id that distinguishes the message from others, also from those of other sinks."""
        if self.kind == "summary":
            return f"summary-{digest(self.to, sorted(each.incident for each in self.entries))}"
        content = self.entries[0].content if self.kind == "changed" else ""
        more = digest(self.to, sorted(each.incident for each in self.entries), content, self.entries[0].turn)
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


def earliest_us(
    state: StationState, options: AlertOptions, not_before_us: int, incident: ReportedIncident | None = None
) -> int:
    """Return the moment (us, UTC) after which an unknown incident must have been detected to be sent."""
    gap_us = _GAP_US if incident and incident.due else 0
    return max(state.begun_us, not_before_us, state.queried_us - int(options.max_lateness * 1e6) - gap_us)


def new_entry(incident: ReportedIncident, to: str, turn: int = 0) -> Entry:
    """Return the entry of an incident that is sent for the first time, or again."""
    return Entry(
        incident.id, to, subject_digest(incident), detected_us(incident), "sent", incident_title(incident),
        content=content_digest(incident), severity=incident.severity, kind=incident.kind, turn=turn,
    )  # fmt: skip


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
    state = _follow_changed_ids(_without_future(state, at_us), listed)
    state = _with_ends(state, listed)
    known = {each.key: each for each in state.entries}
    after_us = earliest_us(state, options, not_before_us)
    new: dict[str, list[_Candidate]] = defaultdict(list)
    for incident in incidents:
        if incident.is_resolved or detected_us(incident) <= not_before_us:
            continue
        is_recent = detected_us(incident) > earliest_us(state, options, not_before_us, incident)
        for to in destinations(options.routes, incident):
            before = known.get((incident.id, to))
            if before is None and is_recent:
                new[to].append(_Candidate(new_entry(incident, to), incident))
            elif before is not None and before.state == "sent" and before.is_resolved:  # it has opened again
                new[to].append(_Candidate(new_entry(incident, to, before.turn + 1), incident))
    held: dict[str, list[_Candidate]] = defaultdict(list)
    for entry in state.entries:
        if entry.state == "held":
            held[entry.to].append(_Candidate(entry, listed.get(entry.incident)))
    due: list[Due] = []
    changed: dict[tuple[str, str], Entry] = {}
    for to in sorted({*new, *held}):
        room = options.max_per_hour - state.sent_in_last_hour(to, at_us)
        opened, kept = _announcements(to, new[to], held[to], options, room=room, at_us=at_us)
        more = state.dropped_held.get(to, 0)
        due += [each._replace(more=more) if each.kind == "summary" else each for each in opened]
        changed |= {entry.key: entry for entry in kept}
    resolved, quietly = _resolutions(state, listed, not_before_us)
    changed |= quietly
    used = Counter(each.to for each in due)
    for message in resolved:
        room = options.max_per_hour - state.sent_in_last_hour(message.to, at_us) - used[message.to]
        severities = {_severity(_Candidate(each, listed.get(each.incident))) for each in message.entries}
        if room > 0 and not all(is_quiet(options.quiet_hours, each, at_us) for each in severities):
            due.append(message)
            used[message.to] += 1
    if edits:
        due += _changes(state, listed)
    state = _without_old(state.with_entries(changed), {*listed}, after_us, at_us)
    if at_us >= state.queried_us + HOUR_US:  # not each time, because each new value costs a commit
        state = msgspec.structs.replace(state, queried_us=at_us)
    return Plan(due, state)


def incident_us(text: str) -> int:
    """Return a time of an incident (us, UTC), 0 if it is not valid."""
    return parse_time(text)[0] or 0


def detected_us(incident: ReportedIncident) -> int:
    """Return when the server first could list an incident (us, UTC): a late write after its grace period."""
    return max(incident_us(incident.opened), incident_us(incident.detected or ""))


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
    waiting = [each for each in held if not is_quiet(options.quiet_hours, _severity(each), at_us)]
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


def _severity(each: _Candidate) -> str:
    return each.incident.severity if each.incident else each.entry.severity or "warning"


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
    return msgspec.structs.replace(each.entry, state="sent", content=content, is_resolved=bool(each.entry.end))


def _resolutions(
    state: StationState, listed: Mapping[str, ReportedIncident], not_before_us: int
) -> tuple[list[Due], dict[tuple[str, str], Entry]]:
    """Return the messages about ended incidents, one for each message to which they belong.

    One that was resolved before `not_before_us` has no message. One that is no longer listed may belong to another
    incident now.
    """
    together: dict[tuple[str, str, str, str], list[Entry]] = defaultdict(list)
    quietly: dict[tuple[str, str], Entry] = {}
    for entry in state.entries:
        incident = listed.get(entry.incident)
        if entry.state != "sent" or entry.is_resolved or not entry.end:
            continue
        content = content_digest(incident) if incident else entry.content
        ended = msgspec.structs.replace(entry, is_resolved=True, content=content)
        if incident and incident_us(incident.resolved or "") <= not_before_us:
            quietly[entry.key] = ended
        else:
            alone = "" if entry.is_summarised else entry.incident
            together[entry.to, entry.reference, alone, entry.end].append(ended)
    kinds = {each.kind for entries in together.values() for each in entries if each.end == "unlisted"}
    titles: dict[str, str] = {}
    for incident in listed.values() if kinds else ():
        for subject in () if incident.is_resolved else involved_digests(incident, kinds):
            titles.setdefault(subject, incident_title(incident))
    due = []
    for (to, reference, _, end), entries in together.items():
        known = tuple(incident for each in entries if (incident := listed.get(each.incident)))
        found = Due("resolved", to, tuple(entries), known, reference, entries[0].place)
        if end == "unlisted":
            elsewhere = dict.fromkeys(titles[each.subject] for each in entries if each.subject in titles)
            found = found._replace(kind="unlisted", elsewhere=tuple(elsewhere))
        due.append(found)
    return due, quietly


def _without_future(state: StationState, at_us: int) -> StationState:
    """Return a state without moments in the future, which a clock that was ahead has stored."""
    if max(state.begun_us, state.queried_us) <= at_us + _SKEW_US:
        return state
    begun_us, queried_us = min(state.begun_us, at_us), min(state.queried_us, at_us)
    return msgspec.structs.replace(state, begun_us=begun_us, queried_us=queried_us)


def _with_ends(state: StationState, listed: Mapping[str, ReportedIncident]) -> StationState:
    """Return a state that knows how incidents ended, because an ended one leaves the list before quiet hours end."""
    changed: dict[tuple[str, str], Entry] = {}
    for entry in state.entries:
        incident = listed.get(entry.incident)
        end: EntryEnd = ""
        if incident is None:
            end = entry.end or "unlisted"
        elif incident.is_resolved:
            end = "resolved"
        title = entry.title or (incident_title(incident) if incident else "")
        is_known = entry.is_resolved or entry.state == "given up" or (end, title) == (entry.end, entry.title)
        if not is_known:
            changed[entry.key] = msgspec.structs.replace(entry, end=end, title=title)
    return state.with_entries(changed) if changed else state


def _changes(state: StationState, listed: Mapping[str, ReportedIncident]) -> list[Due]:
    """Return the messages to change because their open incident has changed."""
    due = []
    for entry in state.entries:
        incident = listed.get(entry.incident)
        is_own = entry.state == "sent" and entry.reference and not entry.is_summarised
        if is_own and not entry.is_resolved and incident and not incident.is_resolved:
            content = content_digest(incident)
            if content != entry.content:
                after = msgspec.structs.replace(entry, content=content, turn=entry.turn + 1)
                due.append(Due("changed", entry.to, (after,), (incident,), entry.reference, entry.place))
    return due


def _follow_changed_ids(state: StationState, listed: Mapping[str, ReportedIncident]) -> StationState:
    """Give entries whose incident is no longer listed the id of an unknown incident with the same kind and subject.

    A late event that changes the first cause changes the id, and an upgrade may change it. An incident that opened
    after the last query is another one.
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
        is_lost = entry.incident not in listed and not entry.is_resolved and not entry.end
        candidates = unknown.get(entry.subject, []) if is_lost and entry.incident not in renamed else []
        until_us = max(entry.opened_us, state.queried_us)
        found = next((each for each in candidates if detected_us(each) <= until_us), None)
        if found is not None:
            candidates.remove(found)
            renamed[entry.incident] = found.id
        entries.append(msgspec.structs.replace(entry, incident=renamed.get(entry.incident, entry.incident)))
    return msgspec.structs.replace(state, entries=tuple(entries)) if renamed else state


def _without_old(state: StationState, listed: set[str], after_us: int, at_us: int) -> StationState:
    """Drop entries that no longer matter: ended and too old to be sent as new, and those above the maximum numbers.

    `begun_us` moves to the newest open incident that is dropped because of a maximum, so that it is not sent as new.
    """
    matter = [
        each
        for each in state.entries
        if each.state == "held"
        or each.opened_us > after_us
        or (each.state == "sent" and not each.is_resolved)
        or each.incident in listed
        or (each.end == "unlisted" and each.opened_us > at_us - _RETURN_US)
    ]
    sent = _excess([each for each in matter if each.state != "held"], MAX_ENTRIES)
    held = _excess([each for each in matter if each.state == "held"], MAX_HELD)
    dropped = {each.key for each in (*sent, *held)}
    kept = tuple(each for each in matter if each.key not in dropped)
    if len(kept) == len(state.entries):
        return state
    begun_us = max([state.begun_us, *(each.opened_us for each in (*sent, *held) if not each.end)])
    counted = Counter(state.dropped_held) + Counter(each.to for each in held)
    return msgspec.structs.replace(state, entries=kept, begun_us=begun_us, dropped_held=dict(counted))


def _excess(entries: Sequence[Entry], most: int) -> list[Entry]:
    """Return the entries above a maximum number: those that ended, then the oldest."""
    if len(entries) <= most:
        return []
    ordered = sorted(entries, key=lambda each: (not each.end, each.opened_us, each.incident, each.to))
    return ordered[: len(entries) - most]
