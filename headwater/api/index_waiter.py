"""Wait until answers include an event. Each commit of the index wakes the waiting requests."""

import asyncio
import time

from headwater.api.freshness import FreshnessMeter
from headwater.common.errors import HeadwaterError

INDEX_WAIT_S = 2.0
"""Maximum wait. After it, the request is answered although answers do not include its event yet."""

STRICT_INDEX_WAIT_S = 10.0
"""Maximum wait with the setting `marquez_strict`."""


class IndexWaiter:
    """The waiting requests of a process. They share the checks of log, lake and index."""

    def __init__(self, meter: FreshnessMeter):
        self._meter = meter
        self._notified = asyncio.Event()
        self._lock = asyncio.Lock()
        self._checked_us = 0
        self._oldest_us: int | None = None

    def notify(self) -> None:
        """Wake the waiting requests after a commit of the index. Call it from their event loop only."""
        self._notified.set()
        self._notified = asyncio.Event()

    async def wait_until_visible(self, until_us: int, within_s: float = INDEX_WAIT_S) -> bool:
        """Wait until answers include every event received until a time (us, UTC). Returns False on timeout."""
        try:
            async with asyncio.timeout(within_s):
                since_us = until_us
                while True:
                    notified = self._notified
                    oldest_us = await self._oldest_unseen_us_since(since_us)
                    if oldest_us is None or oldest_us > until_us:
                        return True
                    await notified.wait()
                    since_us = now_us()
        except (TimeoutError, HeadwaterError):
            return False

    async def _oldest_unseen_us_since(self, since_us: int) -> int | None:
        """Return when the oldest event that answers do not include was received.

        since_us: reuse the result of another request only if its check started later than this (us, UTC).
        """
        async with self._lock:
            if self._checked_us <= since_us:
                began_us = now_us()
                self._oldest_us = await asyncio.to_thread(self._meter.oldest_unseen_us)
                self._checked_us = began_us
            return self._oldest_us


def now_us() -> int:
    """Return the current time (us, UTC)."""
    return time.time_ns() // 1000
