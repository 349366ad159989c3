"""Measure how far answers are behind the acknowledged events, and wait until answers include an event.

An unknown name is an error only if no waiting event can contain it. Each commit of the index wakes waiting requests.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from headwater.api.shapes import Freshness, GoldFreshness, IndexLag
from headwater.common.errors import Behind, HeadwaterError, NotBuilt, NotConfigured, NotKnown
from headwater.events.position import Source
from headwater.events.times import iso_time
from headwater.index.home import IndexHome
from headwater.index.reading.status import published_progress, published_set_aside_events, unpublished_progress
from headwater.index.stored.progress import SetAsideEvent
from headwater.intake.event_log import LogReader, Readers, call_all_readers
from headwater.lake.bronze_follower import count_unprocessed, oldest_ahead_us
from headwater.lake.bronze_tables import Bronze
from headwater.lake.gold_pass import Gold

T = TypeVar("T")

_MEASURE_INTERVAL_S = 1.0
_NOT_BUILT = "There are no answers yet: the index of the lake is still being built."
_MIN_AGE_S = 0.001
"""Minimum age of a waiting event in seconds. 0 would mean that no event waits; the receiver's clock may be ahead."""

INDEX_WAIT_S = 2.0
"""Maximum seconds that a request waits for its event. Then it is answered, even if answers do not include the event."""

STRICT_INDEX_WAIT_S = 10.0
"""Maximum seconds that a request waits for its event with the setting `marquez_strict`."""


class WaitingEvents(NamedTuple):
    """The events that wait in the log for bronze, and in bronze for the index: number, and age of the oldest event."""

    log_s: float = 0.0
    bronze_s: float = 0.0
    log_events: int = 0
    bronze_events: int = 0

    @property
    def worst_s(self) -> float:
        """Age of the oldest event that answers do not include (s)."""
        return max(self.log_s, self.bronze_s)

    @property
    def events(self) -> int:
        """Number of events that answers do not include."""
        return self.log_events + self.bronze_events


class FreshnessMeter:
    """Measures delays between log, lake and index. Thread-safe."""

    def __init__(
        self,
        readers: Readers,
        bronze: Bronze,
        home: IndexHome,
        gold: Gold,
        troubles: Callable[[], Mapping[str, str]] = dict,
    ):
        """readers, bronze, gold: objects that no other code uses, because they are not thread-safe.

        troubles: returns the reasons of the stopped services on this machine, by service.
        """
        self.troubles = troubles
        self._readers = readers
        self._bronze = bronze
        self._home = home
        self._gold = gold
        self._lock = threading.Lock()
        self._build_measured, self._unbuilt_s = -_MEASURE_INTERVAL_S, 0.0

    def count_waiting(self) -> WaitingEvents:
        """Count the waiting events. Every event acknowledged before the call is counted or visible in answers.

        The call checks log, bronze and index in the order of the data flow. An event that moves on during the call is
        found at its next stage. Raises LogUnavailable or LakeUnavailable.
        """
        with self._lock:
            return self._measure_waiting()

    def oldest_unseen_us(self) -> int | None:
        """Return the receipt time of the oldest event that answers do not include (us, UTC), None if there is none.

        Raises LogUnavailable or LakeUnavailable.
        """
        with self._lock:
            found = self._readers()
            in_log = _oldest_waiting_us(found, self._bronze.watermarks([reader.source for reader in found]))
            in_bronze = count_unprocessed(self._bronze, published_progress(self._home))[1]
        return min((each_us for each_us in (*in_log, in_bronze) if each_us is not None), default=None)

    def freshness_answer(self) -> Freshness:
        """Return the answer of the question `freshness`; see docs/reference/api.md."""
        with self._lock:
            waiting = self._measure_waiting()
            gold = self._gold_freshness(waiting.log_s)
            return Freshness(waiting.worst_s, waiting.log_s, waiting.bronze_s, waiting.events, gold)

    def index_lag(self) -> IndexLag:
        """Return the waiting events, and the number of events that the index could not process."""
        waiting = self.count_waiting()
        return IndexLag(waiting.events, waiting.worst_s, len(self.set_aside_events(0)))

    def set_aside_events(self, since_us: int) -> list[tuple[Source, SetAsideEvent]]:
        """Return the events received since `since_us` (us, UTC) that the index could not process, with their log."""
        return published_set_aside_events(self._home, since_us)

    def ask_or_report_delay(self, ask: Callable[[], T], not_known_error: type[HeadwaterError] = NotKnown) -> T:
        """Call `ask` and return its answer.

        Raises `not_known_error` only if no acknowledged event contains the name. Raises Behind while a waiting event
        may contain the name, and while the index is being built.
        """
        try:
            return ask()
        except NotConfigured:
            raise
        except NotBuilt as error:
            raise self._error_while_building(error) from error
        except not_known_error as error:
            waiting = self.count_waiting()
            if waiting.worst_s:
                where = "log" if waiting.log_s == waiting.worst_s else "lake"
                unknown_yet = f"{error}{self._index_error_text()}"
                raise Behind(unknown_yet, where, waiting.worst_s, getattr(error, "nearest", ())) from error
        return ask()  # an event that arrived between the question and the check is visible by now

    def _error_while_building(self, error: NotBuilt) -> HeadwaterError:
        """Return the error to raise while the index is being built. Measures the delay at most once a second."""
        with self._lock:
            now = time.monotonic()
            if now >= self._build_measured + _MEASURE_INTERVAL_S and self._bronze.exists():
                oldest_us = count_unprocessed(self._bronze, unpublished_progress(self._home))[1]
                self._build_measured, self._unbuilt_s = now, max(_MIN_AGE_S, _oldest_age_s(oldest_us))
        if not self._unbuilt_s:
            return error
        return Behind(f"{_NOT_BUILT}{self._index_error_text()}", "lake", self._unbuilt_s)

    def _index_error_text(self) -> str:
        """Return a sentence with the error that stopped the index, or an empty text if the index runs."""
        why = self.troubles().get("index")
        return f" The index has stopped: {why}" if why else ""

    def _measure_waiting(self) -> WaitingEvents:
        found = self._readers()
        passed = self._bronze.watermarks([reader.source for reader in found])
        log_s = _oldest_age_s(*_oldest_waiting_us(found, passed))
        in_log = sum(call_all_readers(found, lambda reader: reader.pending(passed[reader.source]))) if log_s else 0
        in_bronze, oldest_us = count_unprocessed(self._bronze, published_progress(self._home))
        return WaitingEvents(log_s, _oldest_age_s(oldest_us), in_log, in_bronze)

    def _gold_freshness(self, in_log_s: float) -> GoldFreshness | None:
        """Return the freshness of gold, None without gold. Answers do not read gold, so it does not delay them."""
        last = self._gold.last_pass()
        if last is None:
            return None
        lacking_s = _oldest_age_s(oldest_ahead_us(self._bronze, last.progress))
        return GoldFreshness(iso_time(last.at_us) or "", max(in_log_s, lacking_s))


def log_age_s(readers: Readers, bronze: Bronze) -> float:
    """Return the age of the oldest event that waits in the log for bronze (s), 0 if none waits.

    Raises LogUnavailable or LakeUnavailable.
    """
    found = readers()
    return _oldest_age_s(*_oldest_waiting_us(found, bronze.watermarks([reader.source for reader in found])))


def _oldest_waiting_us(readers: Sequence[LogReader], passed: Mapping[Source, int]) -> list[int | None]:
    return call_all_readers(readers, lambda reader: reader.received_us(passed[reader.source] + 1))


def _oldest_age_s(*received_us: int | None) -> float:
    """Return the seconds since the oldest of some receipt times (us, UTC), 0 if all times are None."""
    oldest = min((each_us for each_us in received_us if each_us is not None), default=None)
    return 0.0 if oldest is None else max(_MIN_AGE_S, time.time() - oldest / 1e6)


class IndexWaiter:
    """Lets requests of a process wait until answers include their events. They share checks of log, lake and index."""

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
        """Return the receipt time of the oldest event that answers do not include, None if there is none (us, UTC).

        Uses the result of another request if its check started after `since_us` (us, UTC).
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
