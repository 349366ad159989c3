"""When to make the next attempt: exponential backoff with jitter after faults, and the sink's rate limit."""

import random
from dataclasses import dataclass, field

FIRST_WAIT_S = 0.5
MAX_WAIT_S = 60.0
MAX_RETRY_AFTER_S = 3600.0
"""Limit for a target's Retry-After."""
CIRCUIT_OPEN_AFTER = 5
"""Consecutive faults that open the circuit: then single payloads test whether the target is back."""


@dataclass(slots=True)
class Pace:
    """The waits of one sink. rate: maximum payloads per second, None for no limit."""

    rate: float | None = None
    faults: int = 0
    draw: random.Random = field(default_factory=random.Random)

    @property
    def is_open(self) -> bool:
        """Return whether the circuit breaker is open."""
        return self.faults >= CIRCUIT_OPEN_AFTER

    def after_fault(self, requested_s: float) -> float:
        """Return the wait in seconds: half fixed and half random, so that sinks do not retry at the same moment."""
        self.faults += 1
        grown = min(MAX_WAIT_S, FIRST_WAIT_S * 2 ** min(self.faults - 1, 16))
        return max(min(requested_s, MAX_RETRY_AFTER_S), self.draw.uniform(grown / 2, grown))

    def after_success(self, payloads: int) -> float:
        """Return the wait in seconds that keeps the rate."""
        self.faults = 0
        return payloads / self.rate if self.rate else 0.0
