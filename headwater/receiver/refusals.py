"""What was refused, counted by reason and kept as notes: a few records a second however many requests are refused."""

import time
from dataclasses import dataclass

import msgspec
from prometheus_client import Counter

from headwater.eventlog import Record, RecordKind
from headwater.events.redaction_rules import redact_text
from headwater.receiver import Refusal
from headwater.receiver.paths import WRONG_PATH

MAX_NOTES = 100
WRONG_PATHS = 20
"""Paths that have notes of their own in one interval; all other wrong paths share one note."""
WRONG_PATH_S = 60.0
"""Between two notes of one wrong path: a request without a key writes at most so often."""

CORRECTED = Counter("headwater_corrected_paths", "Posts that were taken although their path was not exact.")
REFUSED = Counter("headwater_refused", "Requests and batch items that were not taken.", ["reason"])


@dataclass(slots=True)
class _Note:
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
    """Collects refusals between two flushes; what a kill loses of it was never acknowledged."""

    def __init__(self) -> None:
        """Start with no notes."""
        self._noted_paths: dict[str, float] = {}
        self._notes: dict[tuple[str, str, str | None, str | None], _Note] = {}

    def add(self, refusal: Refusal, route: str, key: str | None, user_agent: str | None) -> None:
        """Count one refusal. The message never quotes the body, the user agent is redacted: both may hold a secret."""
        REFUSED.labels(refusal.reason).inc()
        kind = (refusal.reason, route, key, refusal.field)
        if kind not in self._notes and len(self._notes) >= MAX_NOTES:
            kind = ("other", route, None, None)
        note = self._notes.get(kind)
        if note is None:
            note = self._notes[kind] = _Note(
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
        """Count a post to a wrong path under its path, redacted, as long as few paths wait or were noted lately."""
        route = redact_text(path)[:100]
        now = time.monotonic()
        self._noted_paths = {name: at for name, at in self._noted_paths.items() if now - at < WRONG_PATH_S}
        known = self._noted_paths.keys() | {
            note.route for note in self._notes.values() if note.reason == refusal.reason
        }
        if route not in known and len(known - {_OTHER_PATHS}) >= WRONG_PATHS:
            route = _OTHER_PATHS
        self.add(refusal, route, None, user_agent)

    def is_waiting(self) -> bool:
        """Tell whether notes wait, also those of wrong paths whose interval is not over."""
        return bool(self._notes)

    def take(self, *, is_last: bool = False) -> list[Record]:
        """Return the notes as log records; notes of wrong paths wait for their interval unless these are the last."""
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

    def give_back(self, records: list[Record]) -> None:
        """Keep notes that the log did not take for the next flush."""
        for record in records:
            note = msgspec.json.decode(record.body, type=_Note)
            kind = (note.reason, note.route, note.key, note.field)
            if kind in self._notes:
                self._notes[kind].count += note.count
            else:
                self._notes[kind] = note
