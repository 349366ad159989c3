"""The successor of what answers questions: loaded in a thread of its own, while the old one goes on."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Successor(Generic[T]):
    """Loads one thing at a time. Not for several threads at once."""

    def __init__(self, unneeded: Callable[[T], None]):
        """Load nothing yet. unneeded: gets what was loaded and is wanted no more."""
        self._unneeded = unneeded
        self._loading: tuple[object, Future[T]] | None = None

    def loaded(self, key: object, load: Callable[[], T]) -> T | None:
        """Return what belongs to a key, once; None while it is loaded, which the first call begins.

        Raises what loading raised; the next call begins again.
        """
        if self._loading is None:
            thread = ThreadPoolExecutor(1, "successor")
            self._loading = (key, thread.submit(load))
            thread.shutdown(wait=False)  # it ends when it has loaded
        wanted, future = self._loading
        if not future.done():
            return None
        self._loading = None
        if wanted == key:
            return future.result()
        self._let_go(future)
        return self.loaded(key, load)

    def close(self) -> None:
        """Wait for what is being loaded, and let go of it."""
        if self._loading is not None:
            self._let_go(self._loading[1])
        self._loading = None

    def _let_go(self, future: Future[T]) -> None:
        if future.exception() is None:
            self._unneeded(future.result())
