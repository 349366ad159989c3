"""A lock that goes round: who works piece by piece lets in, between two pieces, whoever has waited meanwhile."""

import threading


class Turns:
    """A lock whose next holder is who waits for it, never who has just let go of it."""

    def __init__(self) -> None:
        """Nobody holds it."""
        self._next, self._held = threading.Lock(), threading.Lock()

    def __enter__(self) -> None:
        with self._next:
            self._held.acquire()

    def __exit__(self, *_: object) -> None:
        self._held.release()

    def is_awaited(self) -> bool:
        """Tell whether somebody waits for it."""
        return self._next.locked()
