"""A deadline for calls of a client that limits only the time of each read, which one byte per second keeps."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from headwater.errors import Retry

T = TypeVar("T")

REQUEST_S = 120.0
"""For one request with its answer; a file has 16 MiB at most unless one event is larger."""
_MOST_LEFT = 4


class BoundedCalls:
    """Calls one after the other, each in a thread of its own, which is left behind at the deadline.

    Python cannot end a thread, so that a few may be left at a time; they end when the target hangs up.
    """

    def __init__(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._left: list[threading.Thread] = []

    def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns; raises Retry at its deadline, or while too many calls are left behind."""
        self._left = [thread for thread in self._left if thread.is_alive()]
        if len(self._left) >= _MOST_LEFT:
            raise Retry(
                f"{len(self._left)} earlier requests still have no whole answer: the target sends too slowly. "
                "Look at its log and at the network."
            )
        found: Future[T] = Future()
        thread = threading.Thread(target=_answer, args=(call, found), name="sink-request", daemon=True)
        thread.start()
        if not wait([found], self._deadline_s).done:
            self._left.append(thread)
            raise Retry(f"No whole answer within {self._deadline_s:g} s, as the target sends too slowly.")
        return found.result()


def _answer(call: Callable[[], T], found: "Future[T]") -> None:
    try:
        found.set_result(call())
    except BaseException as error:
        found.set_exception(error)
