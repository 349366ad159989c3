"""The receiver: turns a posted request into records of the event log, and an answer. Independent of web frameworks."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import msgspec


@dataclass(frozen=True, slots=True)
class Request:
    """A request from any web server.

    headers: lower-case names, one value per name; body: bytes if the server has read it, else a stream.
    """

    method: str
    headers: Mapping[str, str]
    query: str
    body: bytes | AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class Answer:
    """The response. If the body is empty, the server sends no content type."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """A request that gets a 4xx or 503 answer. Metrics and notes count it by its reason."""

    def __init__(self, status: int, reason: str, problem: str, fix: str, field: str | None = None) -> None:
        super().__init__(f"{problem} {fix}")
        self.status = status
        self.reason = reason
        self.what = problem
        self.fix = fix
        self.field = field

    def answer(self) -> Answer:
        """Build the error response with problem, field and fix (docs/reference/api.md, "Posting events")."""
        body = msgspec.json.encode({"error": self.what, "field": self.field, "fix": self.fix})
        return Answer(self.status, body, {"allow": "POST"} if self.status == 405 else {})
