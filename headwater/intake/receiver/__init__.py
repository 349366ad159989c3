"""The receiver: converts a posted request to records of the event log, and answers it.

Independent of web frameworks.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import msgspec


@dataclass(frozen=True, slots=True)
class Request:
    """A request from any web server.

    headers: maps lower-case names to values, one value per name. query: the query string. body: the bytes if the server
    has read the whole body, otherwise a stream of chunks.
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
    """A request is refused with status 4xx or 503. Metrics and notes count refusals by `reason`."""

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
