"""Check the role of a caller, map errors to HTTP responses, and describe requests for the admin log."""

import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headwater.auth.access import NOBODY, Caller, Role
from headwater.auth.authentication import Authenticator
from headwater.common.errors import Behind, GiveUp, HeadwaterError, NotKnown, WrongQuestion
from headwater.common.json_headers import ANSWER_HEADERS
from headwater.common.storage_faults import explain_storage_error, is_transient
from headwater.lake.admin_log import Actor, Outcome

log = logging.getLogger(__name__)

_ACTIONS = {"read": "read", "write": "write", "admin": "change anything"}
RETRY_SOON = {"retry-after": "1"}
"""Header of responses that tells clients to ask again after a second. Without load, events take less time than this."""

_FIX_SIMILAR = "Use a known name; `nearest` lists similar ones."
_FIX_SEARCH = "Use a known name; search for a part of it."
_FIX_RETRY = "Ask again in a moment. If the name was not sent just now, use a known one; `nearest` lists similar ones."
Recorder = Callable[[Actor, str, str, Outcome, str], None]
"""Records an action in the admin log (actor, action, subject, outcome, detail). Does not raise if there is no lake."""


async def authorize(access: Authenticator, request: Request, role: Role) -> Caller | Response:
    """Return the caller of a request, or an error response if the credential is missing, wrong or lacks a role."""
    key = await access.find_caller(dict(request.headers), request.url.query, request.method)
    if key is None:
        status, _, what, fix = access.denial(request.headers, request.url.query)
        return error_response(status, what, fix)
    if not key.has_role(role):
        return error_response(403, f"{key.title} may not {_ACTIONS[role]}.", f"Use a key with the role `{role}`.")
    return key


async def authorization_error(access: Authenticator, request: Request, role: Role) -> Response | None:
    """Return an error response if the credential is missing, wrong or lacks a role, None if the request is allowed."""
    found = await authorize(access, request, role)
    return found if isinstance(found, Response) else None


def run_question(ask: Callable[[], Any], lock: AbstractContextManager[Any]) -> Any:
    """Return the answer of `ask`, or an error response if it raises. lock: held while `ask` runs.

    An unexpected error becomes a 500 with a reference; the log contains the traceback under this reference.
    """
    try:
        with lock:
            return ask()
    except HeadwaterError as error:
        status, body = error_body(error)
        return json_response(status, body, RETRY_SOON if isinstance(error, Behind) else None)
    except Exception as error:
        return error_response(*unexpected_error(error))


def error_body(error: HeadwaterError) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the JSON body for an error."""
    body: dict[str, Any] = {"error": str(error), "field": None}
    if isinstance(error, WrongQuestion):
        return 400, {**body, "fix": "Correct the parameter."}
    if isinstance(error, NotKnown):
        return 404, {**body, "fix": _FIX_SIMILAR if error.nearest else _FIX_SEARCH, "nearest": error.nearest}
    if isinstance(error, Behind):
        return 503, {**body, "fix": _FIX_RETRY, "nearest": error.nearest, "behind": error.seconds}
    if isinstance(error, GiveUp):
        return 500, {**body, "fix": "Fix the problem that `error` names; otherwise the same question fails again."}
    return 503, {**body, "fix": "Ask again in a moment."}


def unexpected_error(error: Exception) -> tuple[int, str, str]:
    """Return status, message and fix for an unexpected error: 503 for transient disk errors, 500 otherwise."""
    if is_transient(error):
        return 503, f"The disk does not answer: {explain_storage_error(error, 'data')}", "Ask again in a moment."
    return 500, *log_fault(error)


def log_fault(error: Exception) -> tuple[str, str]:
    """Log an unexpected error with its traceback. Return message and fix, which contain a reference to the log.

    The response does not quote the error, because its text may contain data that the caller may not read.
    """
    reference = secrets.token_hex(4)
    log.error("Fault %s: a question failed.", reference, exc_info=error)
    return (
        f"Headwater failed to answer because of a bug, reference {reference}.",
        f"Asking again does not help. Report the bug with the lines of the log that contain {reference!r}.",
    )


def error_response(status: int, what: str, fix: str) -> Response:
    """Return an error response with a JSON body."""
    return json_response(status, {"error": what, "field": None, "fix": fix})


def json_response(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response with headers that prevent caching and content sniffing."""
    return Response(
        msgspec.json.encode(value), status, {**ANSWER_HEADERS, **(headers or {})}, media_type="application/json"
    )


def actor_of(request: Request, caller: Caller | None) -> Actor:
    """Return the actor of a request for the admin log. caller: None without a valid credential.

    Behind a proxy, the actor's address is the address of the nearest proxy.
    """
    address = request.client.host if request.client else ""
    return Actor(caller.label if caller else NOBODY, address, request.headers.get("user-agent", ""))


def outcome_of(status: int) -> Outcome:
    """Return the outcome for the admin log that corresponds to an HTTP status."""
    return "done" if status < 400 else "refused" if status < 500 else "failed"
