"""What a change comes to: events in the log, and the answer once questions see them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from headwater.access import Caller
from headwater.api.index_news import WITHIN_S, IndexNews
from headwater.api.marquez.requests import Answer, Asked, Refused

Json = dict[str, Any]
Meta = TypeVar("Meta")

Post = Callable[[bytes, Mapping[str, str], Caller], Awaitable[tuple[int, bytes]]]
"""Appends an event in the name of an authenticated caller: from body and headers to status and body of the answer."""

WAITS = {"headwater-index": "waits"}
"""Header of an answer to a change that is durable, and that questions do not see yet."""


class Writing(NamedTuple):
    """What a process has that takes changes: its receiver, and what tells when questions see an event.

    within_s: after so many seconds a change is answered that questions do not see yet.
    """

    post: Post
    news: IndexNews
    within_s: float = WITHIN_S


class Write(NamedTuple):
    """Events to append, in this order, and the answer.

    again: what is asked once questions see the events; answer: what is answered without, or where they do not in time.
    """

    events: Sequence[Json]
    answer: Answer
    again: Callable[[Asked], Any] | None = None
    status: int = 200


def body_of(asked: Asked, form: type[Meta]) -> Meta:
    """Return the body of a change; raises Refused for what is no JSON of its form."""
    try:
        return msgspec.json.decode(asked.body or b"{}", type=form)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        said = {"code": 400, "message": "Unable to process JSON", "details": str(error)}
        raise Refused(400, said) from error
