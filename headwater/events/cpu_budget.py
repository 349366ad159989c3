"""The CPU budget of one record, checked between steps that are linear in the size of the record.

A signal would interrupt sooner, but Python delivers signals only to the main thread, and triggers of the Function App
run in other threads. The CPU clock of the thread works in every thread, and ignores the work of other threads.
"""

import time

from headwater.common.errors import InvalidEvent

RECORD_CPU_S = 5.0
TOO_SLOW = "too_slow"


class CpuBudget:
    """The CPU time that this thread may spend per record (seconds)."""

    def __init__(self, seconds: float = RECORD_CPU_S):
        """Start the budget of the first record."""
        self._seconds = seconds
        self.begin_record()

    def begin_record(self) -> None:
        """Start the budget of the next record."""
        self._until = time.thread_time() + self._seconds

    def check(self) -> None:
        """Raise InvalidEvent (reason `too_slow`) if the record has used its budget."""
        if time.thread_time() > self._until:
            raise InvalidEvent(
                TOO_SLOW,
                f"Parsing this record takes more than {self._seconds:g} s of CPU.",
                "Send smaller events, or raise record_cpu_s. The body stays in the log until retention deletes it.",
            )
