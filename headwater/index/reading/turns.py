"""A fair lock: long work in pieces lets waiting threads in between two pieces."""

import threading


class Turns:
    """A lock that goes to a waiting thread before the thread that has just released it."""

    def __init__(self) -> None:
        self._next, self._held = threading.Lock(), threading.Lock()

    def __enter__(self) -> None:
        with self._next:
            self._held.acquire()

    def __exit__(self, *_: object) -> None:
        self._held.release()

    def is_awaited(self) -> bool:
        """Return whether a thread is waiting for the lock."""
        return self._next.locked()
