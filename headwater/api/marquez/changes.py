"""A change: the events to append, and the answer once they are visible."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from headwater.api.index_waiter import INDEX_WAIT_S, IndexWaiter
from headwater.api.marquez.requests import Answer, MarquezError, RequestContext
from headwater.auth.access import Caller

Json = dict[str, Any]
Meta = TypeVar("Meta")

Post = Callable[[bytes, Mapping[str, str], Caller], Awaitable[tuple[int, bytes]]]
"""Appends an event on behalf of an authenticated caller. Returns status and body of the receiver's response."""

NOT_INDEXED_YET = {"headwater-index": "waits"}
"""Header of the response to a change that is durable, but not visible in answers yet."""


class ChangeBackend(NamedTuple):
    """The receiver and the index waiter of a process that accepts changes.

    within_s: maximum wait until a change is visible.
    """

    post: Post
    index_waiter: IndexWaiter
    within_s: float = INDEX_WAIT_S


class Change(NamedTuple):
    """Events to append, in this order, and the answer.

    follow_up: returns the answer once the events are visible; answer: used without `follow_up`, and on timeout.
    """

    events: Sequence[Json]
    answer: Answer
    follow_up: Callable[[RequestContext], Any] | None = None
    status: int = 200


def body_of(context: RequestContext, form: type[Meta]) -> Meta:
    """Return the parsed body of a change. Raises MarquezError if it is not valid JSON of the form."""
    try:
        return msgspec.json.decode(context.body or b"{}", type=form)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        body = {"code": 400, "message": "Unable to process JSON", "details": str(error)}
        raise MarquezError(400, body) from error
