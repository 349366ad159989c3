"""Acts over HTTP, for the admin log: who, from where, with which outcome."""

from collections.abc import Callable

from starlette.requests import Request

from headwater.access import NOBODY, Caller
from headwater.lake.admin_log import Actor, Outcome

Recorder = Callable[[Actor, str, str, Outcome, str], None]
"""Writes an act: who, what, on what, outcome, detail; a lake that is away costs the row, not the act."""


def actor_of(request: Request, caller: Caller | None) -> Actor:
    """Return who acts, nobody where a request showed no good key. The address is that of the nearest proxy."""
    address = request.client.host if request.client else ""
    return Actor(caller.label if caller else NOBODY, address, request.headers.get("user-agent", ""))


def outcome_of(status: int) -> Outcome:
    """Return what an answer's status says."""
    return "done" if status < 400 else "refused" if status < 500 else "failed"
