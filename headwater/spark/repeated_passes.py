"""Run a pass whenever bronze has new rows, in one session and until a signal arrives."""

import _thread
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.common.errors import Retry
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.delta.versions import has_later_commit, newest_version
from headwater.spark.refresh import BATCH_EVENTS, refresh
from headwater.tables import EVENTS
from headwater.tables.last_pass import IDLE_S

MAX_PAUSE_S = 600.0
"""Maximum pause in seconds after a failed pass, unless the interval between passes is longer."""

log = logging.getLogger(__name__)


def run_passes(
    spark: SparkSession,
    lake: str,
    read_rules: Callable[[], UserRules],
    every_s: float,
    *,
    batch_events: int = BATCH_EVENTS,
) -> Iterator[tuple[int, float]]:
    """Run a pass whenever bronze has new rows, until SIGTERM or SIGINT. After a signal, complete the current batch.

    read_rules: returns the rules; called before each pass. every_s: seconds from the end of a pass to the next check
    of bronze. Yields the number of processed events and the duration in seconds of each pass. Repeats a failed pass
    after a growing pause. Raises WrongSetting if the rules or the lake are wrong.
    """
    events = TableFolder(spark, f"{lake}/bronze", [EVENTS])
    seen_version, checked_at, pause_s = -1, 0.0, every_s
    with stop_on_signal() as ending:
        while not ending.is_set():
            if (
                seen_version < 0
                or has_later_commit(events, EVENTS, seen_version)
                or time.monotonic() - checked_at > IDLE_S
            ):
                try:
                    began, now = time.monotonic(), newest_version(events, EVENTS) if events.exists(EVENTS) else -1
                    processed = refresh(spark, lake, read_rules(), batch_events=batch_events, ending=ending)
                    seen_version, checked_at, pause_s = now, time.monotonic(), every_s
                    yield processed, checked_at - began
                except (Retry, PySparkException, Py4JJavaError) as error:
                    seen_version, pause_s = -1, max(every_s, min(MAX_PAUSE_S, pause_s * 2))
                    log.warning("A pass failed. The next one starts in %.0f s: %s", pause_s, str(error).splitlines()[0])
            ending.wait(pause_s)


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and SIGINT set, even if the signal interrupts the thread that waits for the event."""
    ending = threading.Event()

    def end(*_: object) -> None:
        _thread.start_new_thread(ending.set, ())  # `set` takes a lock, which this thread may hold

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
