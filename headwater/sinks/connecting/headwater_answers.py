"""Read lists from the HTTP API of a Headwater server. See docs/reference/questions.md."""

from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from headwater.common.errors import Retry
from headwater.common.http_connection import HttpAnswer
from headwater.sinks.connecting.http import Poster

_T = TypeVar("_T", bound=msgspec.Struct)
MAX_ITEMS = 10_000
"""Maximum number of items in an answer."""
_MAX_BYTES = 64 << 20
"""Maximum size of an answer in bytes; a truncated answer is discarded."""


def request_question(poster: Poster, question: str, query: dict[str, str]) -> HttpAnswer:
    """Ask a question for at most `MAX_ITEMS` items, and return the answer."""
    asked = urlencode({**query, "limit": MAX_ITEMS})
    return poster.request("GET", f"/api/headwater/v1/{question}?{asked}", max_bytes=_MAX_BYTES)


def request_list(poster: Poster, url: str, question: str, query: dict[str, str], kind: type[_T], *, content: str) -> _T:
    """Ask a question and return its answer; raises Retry if the answer is not of this kind.

    url: address of the server. content: what the list contains. Both are for the error message.
    """
    answer = request_question(poster, question, query)
    found = decode_answer(answer.body, kind) if answer.status == 200 else None
    if found is None:
        raise unreadable_answer(url, content, answer)
    return found


def decode_answer(body: bytes | msgspec.Raw, kind: type[_T]) -> _T | None:
    """Return the answer in a body, or None if the body is not of this kind."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def unreadable_answer(url: str, content: str, answer: HttpAnswer) -> Retry:
    """Return the error about a answer that is no list. content: what the list should contain."""
    why = answer.body[:200].decode("utf-8", "replace").strip()
    return Retry(f"{url} returned no list of {content}, status {answer.status}: {why}")
