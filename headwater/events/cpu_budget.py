"""How much CPU one record may cost: looked at between steps, each of which is linear in the record.

A signal would come sooner, but Python delivers it to the main thread alone, and the Function App's triggers run in
others; the clock of the thread that works is the same in both, and another thread's work does not count.
"""

import time

from headwater.errors import InvalidEvent

RECORD_CPU_S = 5.0
TOO_SLOW = "too_slow"


class CpuBudget:
    """Seconds of CPU of this thread for one record after the other."""

    def __init__(self, seconds: float = RECORD_CPU_S):
        """Begin with the first record."""
        self._seconds = seconds
        self.begin()

    def begin(self) -> None:
        """Begin with the next record."""
        self._until = time.thread_time() + self._seconds

    def check(self) -> None:
        """Raise InvalidEvent (reason `too_slow`) once this record has had its share."""
        if time.thread_time() > self._until:
            raise InvalidEvent(
                TOO_SLOW,
                f"Reading it takes more than {self._seconds:g} s of CPU.",
                "Its body is in the event log until retention takes it; send less in one event, or raise record_cpu_s.",
            )
