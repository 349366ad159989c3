"""How the reading API refuses: keys without a role, parameters out of form, names nobody knows, a lake that is away."""

import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headwater.access import Caller, Role
from headwater.answer_headers import ANSWER_HEADERS
from headwater.errors import Behind, GiveUp, HeadwaterError, NotKnown, WrongQuestion
from headwater.identity.callers import Access
from headwater.storage_faults import explain, passes

log = logging.getLogger(__name__)


async def admitted(access: Access, request: Request, role: Role) -> Caller | Response:
    """Return who asks, or what is answered to a key that is missing, wrong, or without a role."""
    key = await access.find(dict(request.headers), request.url.query, request.method)
    if key is None:
        status, _, what, fix = access.denial(request.headers, request.url.query)
        return error_response(status, what, fix)
    if not key.may(role):
        return error_response(403, f"{key.title} may not {_MAY[role]}.", f"Use a key with the role `{role}`.")
    return key


async def refuse(access: Access, request: Request, role: Role) -> Response | None:
    """Return what is answered to a key that is missing, wrong, or without a role; None where all is well."""
    found = await admitted(access, request, role)
    return found if isinstance(found, Response) else None


_MAY = {"read": "read", "write": "write", "admin": "change anything"}


def answered(ask: Callable[[], Any], turn: AbstractContextManager[Any]) -> Any:
    """Return an answer, or the refusal that its error stands for; turn: held meanwhile.

    Any error that is not ours is a fault: the answer is a 500 with the reference under which the log has its traceback.
    """
    try:
        with turn:
            return ask()
    except HeadwaterError as error:
        status, said = refusal(error)
        return json_response(status, said, AGAIN if isinstance(error, Behind) else None)
    except Exception as error:
        return error_response(*unexpected(error))


def refusal(error: HeadwaterError) -> tuple[int, dict[str, Any]]:
    """Return the status and the body that an error stands for."""
    said: dict[str, Any] = {"error": str(error), "field": None}
    if isinstance(error, WrongQuestion):
        return 400, {**said, "fix": "Correct the parameter."}
    if isinstance(error, NotKnown):
        return 404, {**said, "fix": _KNOWN if error.nearest else _UNLIKE, "nearest": error.nearest}
    if isinstance(error, Behind):
        return 503, {**said, "fix": _BEHIND, "nearest": error.nearest, "behind": error.seconds}
    if isinstance(error, GiveUp):
        return 500, {**said, "fix": "Correct what `error` names; the same question would fail again."}
    return 503, {**said, "fix": "Ask again in a moment."}


def unexpected(error: Exception) -> tuple[int, str, str]:
    """Return status, what happened and what to do for an error that is not ours: passing disk faults are a 503."""
    if passes(error):
        return 503, f"The disk does not answer: {explain(error, 'data')}", "Ask again in a moment."
    return 500, *fault(error)


def fault(error: Exception) -> tuple[str, str]:
    """Log an error that nobody expected with its traceback; return what happened and what to do, with its reference.

    The text of the error is only logged: it may quote what the caller may not read.
    """
    reference = secrets.token_hex(4)
    log.error("Fault %s: a question failed.", reference, exc_info=error)
    return (
        f"Headwater failed to answer because of a fault of its own, reference {reference}.",
        f"Asking again does not help. Report the fault with the log's lines under {reference!r}.",
    )


AGAIN = {"retry-after": "1"}
"""Header of an answer that may be another one soon: an event that comes alone can be asked about within a second."""

_KNOWN = "Use a name that is known; `nearest` has some."
_UNLIKE = "Use a name that is known: search for a part of it."
_BEHIND = "Ask again in a moment. If the name was not sent just now, use one that is known; `nearest` has some."


def error_response(status: int, what: str, fix: str) -> Response:
    """Return a refusal."""
    return json_response(status, {"error": what, "field": None, "fix": fix})


def json_response(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON that no cache stores and no browser takes for another type."""
    return Response(
        msgspec.json.encode(value), status, {**ANSWER_HEADERS, **(headers or {})}, media_type="application/json"
    )
