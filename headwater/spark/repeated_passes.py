"""Run passes in one session, each when bronze has new rows, until a signal ends them."""

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
from headwater.spark.delta.versions import is_followed, newest
from headwater.spark.refresh import BATCH_EVENTS, refresh
from headwater.tables import EVENTS
from headwater.tables.last_pass import IDLE_S

MOST_PAUSE_S = 600.0
"""Between two passes that failed, or between two at all where these are further apart."""

log = logging.getLogger(__name__)


def passes(
    spark: SparkSession,
    lake: str,
    read_rules: Callable[[], UserRules],
    every_s: float,
    *,
    batch_events: int = BATCH_EVENTS,
) -> Iterator[tuple[int, float]]:
    """Make passes until SIGTERM or SIGINT, at which the batch that is under way is ended first.

    every_s: seconds from the end of one pass to the next look at bronze; read_rules: asked before each pass. Yields of
    each how many events it took, and in how many seconds; one that fails is tried again, ever more slowly. Raises
    WrongSetting.
    """
    events = TableFolder(spark, f"{lake}/bronze", [EVENTS])
    seen, seen_at, pause_s = -1, 0.0, every_s
    with told_to_end() as ending:
        while not ending.is_set():
            if seen < 0 or is_followed(events, EVENTS, seen) or time.monotonic() - seen_at > IDLE_S:
                try:
                    began, now = time.monotonic(), newest(events, EVENTS) if events.exists(EVENTS) else -1
                    taken = refresh(spark, lake, read_rules(), batch_events=batch_events, ending=ending)
                    seen, seen_at, pause_s = now, time.monotonic(), every_s
                    yield taken, seen_at - began
                except (Retry, PySparkException, Py4JJavaError) as error:
                    seen, pause_s = -1, max(every_s, min(MOST_PAUSE_S, pause_s * 2))
                    log.warning("A pass failed, the next one comes in %.0f s: %s", pause_s, str(error).splitlines()[0])
            ending.wait(pause_s)


@contextmanager
def told_to_end() -> Iterator[threading.Event]:
    """Give what SIGTERM and SIGINT set, wherever they find the thread that waits for it."""
    ending = threading.Event()

    def end(*_: object) -> None:
        _thread.start_new_thread(ending.set, ())  # it takes a lock, which who is interrupted may hold

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
