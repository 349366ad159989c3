"""Sends batches of events to a receiver, repeats them until the receiver answers, and interprets the answers."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.common.errors import Retry, WrongSetting
from headwater.common.http_connection import HttpAnswer, PersistentConnection, retry_after_s, ssl_context
from headwater.common.server_address import server_address

BATCH = 500
BATCH_BYTES = 8 << 20

BATCHES = "/api/v1/lineage/batch"
ONE = "/api/v1/lineage"
_AGAIN = frozenset({408, 425, 429})
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_LONGEST_ASKED_S = 300.0

Ask = Callable[[str, str, bytes | None, Mapping[str, str]], HttpAnswer]
"""A function that sends a request to a receiver. Its parameters are method, path, body, and headers except the key.

It raises Retry if no answer came.
"""


class BatchSender:
    """Sends events to one receiver."""

    def __init__(
        self,
        ask: Ask,
        *,
        patience_s: float,
        wait: Callable[[float], object] = time.sleep,
        on_failure: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Set up a sender that has sent nothing yet.

        ask: sends a request. patience_s: seconds for which a batch without an answer is sent again. This applies only
        after the receiver has answered any request; before, the first failure is raised, unless `patience_s` is
        infinite. wait: sleeps for a number of seconds. on_failure: called with the reason before each new attempt.
        """
        self._ask = ask
        self._patience_s = patience_s
        self._wait = wait
        self._on_trouble = on_failure
        self._has_answered = patience_s == float("inf")

    def send(self, bodies: Sequence[bytes]) -> dict[int, str]:
        """Send events, and return a mapping from the index of each refused event to the reason.

        bodies: at most `BATCH` events of at most `BATCH_BYTES` in total. Raises Retry if no answer came in time,
        although the receiver may have accepted some events. Raises WrongSetting for a wrong key.
        """
        if not bodies:
            return {}
        answer = self._post_with_retries(BATCHES, b"[" + b",".join(bodies) + b"]", {})
        if answer.status == 204:
            return {}
        if answer.status == 200:
            return {item["index"]: item["reason"] for item in _decode_answer(answer)["failed_events"]}
        if len(bodies) == 1:
            return {0: _decode_answer(answer)["error"]}
        middle = len(bodies) // 2  # one invalid event spoils the batch, or the batch is too large
        earlier, later = self.send(bodies[:middle]), self.send(bodies[middle:])
        return earlier | {middle + index: reason for index, reason in later.items()}

    def send_rejected_line(self, body: bytes, file: str, line: int) -> str | None:
        """Send a line of a file that is not an event, so that it is stored in table `rejected`.

        Returns None if the receiver accepted the line, or else the reason of the refusal.
        """
        answer = self._post_with_retries(ONE, body, {"headwater-origin": quote(f"{file}:{line}")})
        return None if answer.status == 200 else str(_decode_answer(answer)["error"])

    def _post_with_retries(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send a request until the receiver returns an answer about the body, and not a temporary error."""
        deadline, pause_s = time.monotonic() + self._patience_s, _FIRST_PAUSE_S
        while True:
            try:
                answer = self._ask("POST", path, body, headers)
            except Retry as error:
                why, asked_s = str(error), 0.0
                if not self._has_answered:
                    raise
            else:
                self._has_answered = True
                if answer.status not in _AGAIN and answer.status < 500:
                    return _check_answer(answer)
                why = f"The receiver answers {answer.status}: {answer.body[:200].decode('utf-8', 'replace')}"
                asked_s = min(retry_after_s(answer.headers), _LONGEST_ASKED_S)
            if time.monotonic() >= deadline:
                raise Retry(f"{why} Given up after {self._patience_s:.0f} s; run the command again.")
            self._on_trouble(why)
            self._wait(max(pause_s, asked_s))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


@contextmanager
def open_receiver(url: str, key: str | None) -> Iterator[Ask]:
    """Yield a function that sends requests to a receiver. It connects at the first request.

    Raises WrongSetting if `url` is not valid.
    """
    address = server_address(url)
    own = {"content-type": "application/json", "user-agent": "headwater"}
    own |= {"authorization": f"Bearer {key}"} if key else {}

    def ask(method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> HttpAnswer:
        try:
            return connection.request(method, path, body, {**own, **headers})
        except Retry as error:
            raise Retry(f"{error}. Start `headwater up`, or give its URL with --server.") from error

    with closing(PersistentConnection(address, timeout_s=30.0, context=ssl_context())) as connection:
        yield ask


def _check_answer(answer: HttpAnswer) -> HttpAnswer:
    """Return the answer if it is about the body.

    Raises WrongSetting if the receiver refuses the key, or if the server is not a Headwater receiver.
    """
    if answer.status in (401, 403):
        problem = _decode_answer(answer)
        raise WrongSetting(f"{problem['error']} {problem.get('fix', '')} Give it with --key or HEADWATER_KEY.")
    if answer.status not in (200, 204, 400, 413):
        raise WrongSetting(f"The server at this address is not a Headwater receiver: status {answer.status}.")
    return answer


def _decode_answer(answer: HttpAnswer) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        found = None
    if not isinstance(found, dict) or not ({"error", "failed_events"} & found.keys()):
        raise WrongSetting(f"The server at this address is not a Headwater receiver: status {answer.status}.")
    return found
