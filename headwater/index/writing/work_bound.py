"""How much CPU a batch of events may take the index: SQLite asks now and then, and all of the work asks SQLite."""

import time

EVENT_CPU_S = 30.0
"""CPU time of one event, after which it is set aside; the goal for the largest, 30,000 outputs, is 5 s."""

_MORE_S = 0.05
"""CPU time of each event of a batch beside that."""


class WorkBound:
    """Seconds of CPU of this thread for one batch after the other."""

    def __init__(self, event_cpu_s: float = EVENT_CPU_S, *, every: int = 10_000):
        """every: steps of SQLite's machine, for each of its statements, between two looks at the clock."""
        self.event_cpu_s = event_cpu_s
        self.every = every
        self._until_s = 0.0

    def begin(self, events: int) -> None:
        """Begin with a batch of so many events."""
        self._until_s = time.thread_time() + self.event_cpu_s + _MORE_S * events

    def is_spent(self) -> bool:
        """Tell whether the batch has had its share."""
        return time.thread_time() > self._until_s
