"""Describe actions over HTTP for the admin log."""

from collections.abc import Callable

from starlette.requests import Request

from headwater.auth.access import NOBODY, Caller
from headwater.lake.admin_log import Actor, Outcome

Recorder = Callable[[Actor, str, str, Outcome, str], None]
"""Records an action in the admin log: actor, action, subject, outcome, detail. It does not fail without a lake."""


def actor_of(request: Request, caller: Caller | None) -> Actor:
    """Return the actor of a request. caller: None without a valid credential. The address is the nearest proxy's."""
    address = request.client.host if request.client else ""
    return Actor(caller.label if caller else NOBODY, address, request.headers.get("user-agent", ""))


def outcome_of(status: int) -> Outcome:
    """Return the outcome for an HTTP status."""
    return "done" if status < 400 else "refused" if status < 500 else "failed"
