"""Whether questions see an event yet: who posted it waits for the index, woken by each of its commits."""

import asyncio
import time

from headwater.api.freshness import FreshnessMeter
from headwater.errors import HeadwaterError

WITHIN_S = 2.0
"""Who waits longer is answered without: the event is durable, and questions see it later."""

STRICT_WITHIN_S = 10.0
"""The same where every write is answered like Marquez answers it: once it can be read."""


class IndexNews:
    """Waits of one process; one look at log, lake and index answers all who wait for it."""

    def __init__(self, meter: FreshnessMeter):
        """meter: tells what questions do not see."""
        self._meter = meter
        self._rung = asyncio.Event()
        self._turn = asyncio.Lock()
        self._looked_us = 0
        self._oldest_us: int | None = None

    def tell(self) -> None:
        """Wake who waits: the index has taken something. Only from the loop that they wait in."""
        self._rung.set()
        self._rung = asyncio.Event()

    async def shows(self, until_us: int, within_s: float = WITHIN_S) -> bool:
        """Wait until questions see every event received until a moment (us, UTC); False where they do not in time."""
        try:
            async with asyncio.timeout(within_s):
                since_us = until_us
                while True:
                    rung = self._rung
                    oldest_us = await self._look(since_us)
                    if oldest_us is None or oldest_us > until_us:
                        return True
                    await rung.wait()
                    since_us = now_us()
        except (TimeoutError, HeadwaterError):
            return False

    async def _look(self, since_us: int) -> int | None:
        """Return when the oldest event was received that questions do not see, as of a look begun since then."""
        async with self._turn:
            if self._looked_us <= since_us:
                began_us = now_us()
                self._oldest_us = await asyncio.to_thread(self._meter.oldest_unseen_us)
                self._looked_us = began_us
            return self._oldest_us


def now_us() -> int:
    """Return the time now (us, UTC)."""
    return time.time_ns() // 1000
