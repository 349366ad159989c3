"""An event loop in a background thread, for synchronous callers: only the SDK's asynchronous calls can be cancelled."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines for synchronous threads. The loop starts at first use and ends with the process."""

    def __init__(self) -> None:
        """Start nothing; the first call does."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Run a coroutine and return its result. Raises TimeoutError and cancels it after the timeout."""
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, timeout_s), self._running()).result()

    def start(self, work: Coroutine[Any, Any, None]) -> Callable[[], object]:
        """Start a coroutine. Returns a function that cancels it, from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._running()).cancel

    def call(self, what: Callable[[], object]) -> None:
        """Schedule a call in the loop."""
        self._running().call_soon_threadsafe(what)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="event-hub", daemon=True).start()
            return self._loop
