"""Counts refused requests by reason, and collects notes about them for the log, with a limited number per flush."""

import time
from dataclasses import dataclass

import msgspec
from prometheus_client import Counter

from headwater.events.redaction_rules import redact_text
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.receiver import Refusal
from headwater.intake.receiver.paths import WRONG_PATH

MAX_NOTES = 100
WRONG_PATHS = 20
"""Number of wrong paths with a separate note per interval; all other wrong paths share one note."""
WRONG_PATH_S = 60.0
"""Minimum time between two notes about one wrong path, because such requests need no key."""

CORRECTED = Counter("headwater_corrected_paths", "Requests accepted although their path was not exact.")
REFUSED = Counter("headwater_refused", "Requests and batch items that were refused.", ["reason"])


@dataclass(slots=True)
class _RefusalNote:
    """Refusals of one kind since the last flush."""

    status: int
    reason: str
    route: str
    key: str | None
    field: str | None
    message: str
    user_agent: str | None
    first_us: int
    count: int = 0


_OTHER_PATHS = "other paths"


class Refusals:
    """Collects notes between two flushes.

    If the process is killed, the notes are lost, but no acknowledged event is.
    """

    def __init__(self) -> None:
        """Create an empty collection."""
        self._noted_paths: dict[str, float] = {}
        self._notes: dict[tuple[str, str, str | None, str | None], _RefusalNote] = {}

    def add(self, refusal: Refusal, route: str, key: str | None, user_agent: str | None) -> None:
        """Count one refusal. The note has no text of the body and a redacted user agent, as both may hold secrets."""
        REFUSED.labels(refusal.reason).inc()
        kind = (refusal.reason, route, key, refusal.field)
        if kind not in self._notes and len(self._notes) >= MAX_NOTES:
            kind = ("other", route, None, None)
        note = self._notes.get(kind)
        if note is None:
            note = self._notes[kind] = _RefusalNote(
                status=refusal.status,
                reason=kind[0],
                route=route,
                key=kind[2],
                field=kind[3] and kind[3][:200],
                message=refusal.what[:500],
                user_agent=user_agent and redact_text(user_agent)[:200],
                first_us=time.time_ns() // 1000,
            )
        note.count += 1

    def add_wrong_path(self, refusal: Refusal, path: str, user_agent: str | None) -> None:
        """Count a POST to a wrong path.

        The note has the path without secrets, or "other paths" if there are too many different paths.
        """
        route = redact_text(path)[:100]
        now = time.monotonic()
        self._noted_paths = {name: at for name, at in self._noted_paths.items() if now - at < WRONG_PATH_S}
        known = self._noted_paths.keys() | {
            note.route for note in self._notes.values() if note.reason == refusal.reason
        }
        if route not in known and len(known - {_OTHER_PATHS}) >= WRONG_PATHS:
            route = _OTHER_PATHS
        self.add(refusal, route, None, user_agent)

    def has_notes(self) -> bool:
        """Whether there are notes, including notes about wrong paths that must wait for the end of their interval."""
        return bool(self._notes)

    def take_notes(self, *, is_last: bool = False) -> list[Record]:
        """Remove the notes and return them as log records.

        Notes about wrong paths stay until their interval has passed, unless `is_last`.
        """
        now = time.monotonic()
        notes, self._notes = self._notes, {}
        for kind, note in list(notes.items()):
            if note.reason != WRONG_PATH:
                continue
            if not is_last and now - self._noted_paths.get(note.route, -WRONG_PATH_S) < WRONG_PATH_S:
                self._notes[kind] = notes.pop(kind)
            else:
                self._noted_paths[note.route] = now
        return [Record(RecordKind.REFUSAL, msgspec.json.encode(note)) for note in notes.values()]

    def put_back_notes(self, records: list[Record]) -> None:
        """Put back notes that the log did not accept, for the next flush."""
        for record in records:
            note = msgspec.json.decode(record.body, type=_RefusalNote)
            kind = (note.reason, note.route, note.key, note.field)
            if kind in self._notes:
                self._notes[kind].count += note.count
            else:
                self._notes[kind] = note
