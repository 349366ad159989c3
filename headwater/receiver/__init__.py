"""One posted request to the event log: bytes and headers in, status and body out. Knows no web framework."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import msgspec


@dataclass(frozen=True, slots=True)
class Request:
    """A request as any server can hand it over.

    headers: names are lower-case, the last of a name wins; body: whole where the server has it whole.
    """

    method: str
    headers: Mapping[str, str]
    query: str
    body: bytes | AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send back; an empty body has no content type."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """A request that is answered with a 4xx or 503 and counted under its reason."""

    def __init__(self, status: int, reason: str, what: str, fix: str, field: str | None = None) -> None:
        super().__init__(f"{what} {fix}")
        self.status = status
        self.reason = reason
        self.what = what
        self.fix = fix
        self.field = field

    def answer(self) -> Answer:
        """Say what is wrong, where, and what to do (docs/api.md, "Posting events")."""
        body = msgspec.json.encode({"error": self.what, "field": self.field, "fix": self.fix})
        return Answer(self.status, body, {"allow": "POST"} if self.status == 405 else {})
