"""What an alert sink stores next to its position: each incident that it sent, to which destination, and where."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal

import msgspec

from headwater.sinks.targets.alerts.server import ReportedIncident

HOUR_US = 3_600_000_000

EntryState = Literal["held", "sent", "given up"]
EntryEnd = Literal["", "resolved", "unlisted"]


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An incident at a destination.

    incident: its id. to: the destination. subject: digest of its kind and subject. opened_us: when the server first
    could list it (us, UTC). reference, place: the message to which updates belong, for example a time stamp in Slack,
    and its channel. content: digest of what was sent last. is_resolved: whether its end was sent or given up.
    is_summarised: whether its message is a summary. severity, kind: those of the incident. end: how it ended, "" while
    it is open; `unlisted` if the server does not list it any more. turn: number of changes and announcements after the
    first one.
    """

    incident: str
    to: str
    subject: str
    opened_us: int
    state: EntryState
    title: str
    reference: str = ""
    place: str = ""
    content: str = ""
    is_resolved: bool = False
    is_summarised: bool = False
    severity: str = ""
    kind: str = ""
    end: EntryEnd = ""
    turn: int = 0
    is_end_given_up: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Return the incident and the destination."""
        return self.incident, self.to


class Claim(msgspec.Struct, frozen=True):
    """The instance that is sending. until_us: when another instance may send instead (us, UTC)."""

    owner: str
    until_us: int


class StationState(msgspec.Struct, frozen=True):
    """The stored state.

    begun_us: the first query; incidents that opened earlier are never sent. queried_us: the newest query that was
    stored, at least once an hour. sent_us: for each destination, when messages of the last hour were sent.
    dropped_held: number of held incidents of a destination that were dropped because there were too many.
    """

    begun_us: int
    queried_us: int
    entries: tuple[Entry, ...] = ()
    sent_us: dict[str, list[int]] = {}
    claim: Claim | None = None
    dropped_held: dict[str, int] = {}

    def with_entries(self, changed: dict[tuple[str, str], Entry]) -> "StationState":
        """Return a copy with changed and added entries, by incident and destination."""
        known = {each.key: each for each in self.entries}
        return msgspec.structs.replace(self, entries=tuple((known | changed).values()))

    def with_message(self, to: str, at_us: int) -> "StationState":
        """Return a copy that counts a message to a destination."""
        recent = [us for us in self.sent_us.get(to, ()) if at_us - HOUR_US < us <= at_us]
        return msgspec.structs.replace(self, sent_us={**self.sent_us, to: [*recent, at_us]})

    def sent_in_last_hour(self, to: str, at_us: int) -> int:
        """Return the number of messages to a destination in the hour before a moment (us, UTC)."""
        return sum(at_us - HOUR_US < us <= at_us for us in self.sent_us.get(to, ()))


def decode_state(text: str | None) -> StationState | None:
    """Return a stored state, None if there is none."""
    return None if text is None else msgspec.json.decode(text, type=StationState)


def encode_state(state: StationState) -> str:
    """Return the text to store."""
    return msgspec.json.encode(state).decode()


def without_names(text: str) -> str:
    """Return a stored state without the names of jobs and datasets."""
    state = decode_state(text)
    if state is None or not any(each.title for each in state.entries):
        return text
    blank = tuple(msgspec.structs.replace(each, title="") for each in state.entries)
    return encode_state(msgspec.structs.replace(state, entries=blank))


def digest(*parts: object) -> str:
    """Return 16 hexadecimal digits that identify values."""
    return blake2b(msgspec.json.encode(parts), digest_size=8).hexdigest()


def subject_digest(incident: ReportedIncident) -> str:
    """Return a digest of the kind and the subject, by which an incident is recognised if its id changes."""
    subject = incident.subject
    return digest(incident.kind, subject.kind, subject.namespace, subject.name, subject.column, subject.test)


def involved_digests(incident: ReportedIncident, kinds: Iterable[str]) -> Iterator[str]:
    """Yield the `subject_digest` that incidents of some kinds about the jobs and datasets of an incident have."""
    subject = incident.subject
    names = {(subject.kind, subject.namespace, subject.name)}
    names |= {("dataset", each.namespace, each.dataset) for each in incident.affected}
    names |= {("job", str(each.job.get("namespace")), str(each.job.get("name"))) for each in incident.failures}
    return (digest(kind, *name, None, None) for kind in kinds for name in sorted(names))


def content_digest(incident: ReportedIncident) -> str:
    """Return a digest of what a message shows of an incident."""
    owners = sorted(each.name for each in incident.owners)
    return digest(
        incident.summary, incident.severity, incident.state, incident.affectedCount, incident.failureCount, owners
    )
