"""Set a deadline for calls of clients that limit only each read, which one byte per second satisfies."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from headwater.common.errors import Retry

T = TypeVar("T")

REQUEST_S = 120.0
"""For one request with its answer; a file has at most 16 MiB unless one event is larger."""
_MOST_LEFT = 4


class BoundedCalls:
    """Run calls one at a time, each in its own thread, which is abandoned at the deadline.

    Python cannot stop a thread, so a few abandoned ones may remain; they end when the target closes the connection.
    """

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._left: list[threading.Thread] = []

    def run(self, call: Callable[[], T]) -> T:
        """Return the result of a call; raises Retry at the deadline, or while too many abandoned calls remain."""
        self._left = [thread for thread in self._left if thread.is_alive()]
        if len(self._left) >= _MOST_LEFT:
            raise Retry(
                f"{len(self._left)} earlier requests still have no complete response: the target sends too slowly. "
                "Check its log and the network."
            )
        found: Future[T] = Future()
        thread = threading.Thread(target=_answer, args=(call, found), name="sink-request", daemon=True)
        thread.start()
        if not wait([found], self._deadline_s).done:
            self._left.append(thread)
            raise Retry(
                f"No complete response within {self._deadline_s:g} s: the target sends too slowly. "
                "Check its log and the network."
            )
        return found.result()


def _answer(call: Callable[[], T], found: "Future[T]") -> None:
    try:
        found.set_result(call())
    except BaseException as error:
        found.set_exception(error)
