"""The CPU limit of a batch of events. SQLite's progress handler checks it, because all the work uses SQLite."""

import time

EVENT_CPU_S = 30.0
"""CPU seconds after which an event is set aside. The target for the largest event, 30,000 outputs, is 5 s."""

_MORE_S = 0.05
"""Additional CPU seconds for each event of a batch."""


class WorkBound:
    """A limit of CPU seconds of this thread for each batch."""

    def __init__(self, event_cpu_s: float = EVENT_CPU_S, *, every: int = 10_000):
        """Set the limit. every: steps of SQLite's virtual machine in a statement between two checks of the clock."""
        self.event_cpu_s = event_cpu_s
        self.every = every
        self._until_s = 0.0

    def begin(self, events: int) -> None:
        """Start the limit for a batch of this many events."""
        self._until_s = time.thread_time() + self.event_cpu_s + _MORE_S * events

    def is_spent(self) -> bool:
        """Return whether the batch has used up its CPU time."""
        return time.thread_time() > self._until_s
