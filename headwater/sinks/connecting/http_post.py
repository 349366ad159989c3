"""One POST to a target, and what its answer means: delivered, to be tried again, or never."""

import email.utils
import gzip
import time
from collections.abc import Callable, Mapping

from headwater.errors import Retry, WrongSetting
from headwater.sinks.connecting.kept_connection import READ_BYTES, HttpAnswer, KeptConnection, trust
from headwater.sinks.contract.guarding import one_line
from headwater.sinks.contract.sink_shape import Outcome, whole_again

_AWAY = frozenset({401, 403, 404, 405, 407, 408, 421, 423, 425, 429, 502, 503, 504})
"""What says nothing about an event: credentials, address, load. It is waited for until somebody has put it right."""

Headers = Callable[[str, str, bytes | None], Mapping[str, str]]
"""Returns the headers that say who we are, by method, address and body; each time anew: a token may have ended."""


class Poster:
    """A connection to one target. Its address comes from the configuration alone, never from an event."""

    def __init__(self, url: str, headers: Headers, *, timeout_s: float, ca: str | None, compress: bool) -> None:
        """Connect to nothing yet. ca: file of certificates to trust; compress: send bodies as gzip."""
        self._headers = headers
        self._compress = compress
        self._url = url.rstrip("/")
        self._connection = KeptConnection(self._url, timeout_s=timeout_s, context=trust(ca))

    def post(self, path: str, body: bytes, count: int) -> HttpAnswer | Outcome:
        """Post one body that stands for `count` payloads: an answer 2xx, or the outcome of what failed."""
        try:
            answer = self.ask("POST", path, body)
        except (Retry, WrongSetting) as error:
            return whole_again(count, str(error))
        if 200 <= answer.status < 300:
            return answer
        return failure(answer, count)

    def hand_over(self, path: str, body: bytes, count: int) -> Outcome:
        """Post a body of which the status says all: delivered where it is 2xx."""
        answer = self.post(path, body, count)
        return answer if isinstance(answer, Outcome) else Outcome()

    def ask(self, method: str, path: str, body: bytes | None = None, most: int = READ_BYTES) -> HttpAnswer:
        """Make one request, read so many bytes of its answer; raises Retry where none came."""
        kind = {} if body is None else {"content-type": "application/json"}
        if body is not None and self._compress:
            kind["content-encoding"] = "gzip"
            body = gzip.compress(body, 1)
        headers = {**self._headers(method, self._url + path, body), **kind}
        return self._connection.ask(method, path, body, headers, most)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def failure(answer: HttpAnswer, count: int) -> Outcome:
    """Return what an answer that is no success means for `count` payloads."""
    text = one_line(answer.body[:300].decode("utf-8", "replace").strip())
    said = f"status {answer.status}" + (f": {text}" if text else "")
    if 300 <= answer.status < 400 and (where := answer.headers.get("location", "")):
        said += (
            f". It redirects to {one_line(where[:300])}, which is not followed. "
            "If that is the target, correct `url` in sinks.yml, or the address of the replay."
        )
    if answer.status in _AWAY or 300 <= answer.status < 400:
        return whole_again(count, said, after_s=retry_after(answer.headers))
    if answer.status < 500 and count == 1:
        return Outcome(refused={0: said})
    return whole_again(count, said, after_s=retry_after(answer.headers), blames_event=True)


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that an answer's Retry-After asks for (RFC 9110: seconds or a date), 0 where it asks none."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
