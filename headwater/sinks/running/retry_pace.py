"""When the next attempt may be made: after faults ever later, with jitter; never faster than a sink's rate."""

import random
from dataclasses import dataclass, field

FIRST_S = 0.5
MOST_S = 60.0
LONGEST_WISH_S = 3600.0
"""Of a target's Retry-After."""
OPEN_AFTER = 5
"""Faults in a row after which the circuit is open: one payload alone asks whether the target is back."""


@dataclass(slots=True)
class Pace:
    """The pauses of one sink. rate: payloads a second, None for as many as go."""

    rate: float | None = None
    faults: int = 0
    draw: random.Random = field(default_factory=random.Random)

    @property
    def is_open(self) -> bool:
        """Tell whether the circuit is open."""
        return self.faults >= OPEN_AFTER

    def after_fault(self, wish_s: float) -> float:
        """Return how long to wait (s): half fixed, half drawn, so that sinks do not come back together."""
        self.faults += 1
        grown = min(MOST_S, FIRST_S * 2 ** min(self.faults - 1, 16))
        return max(min(wish_s, LONGEST_WISH_S), self.draw.uniform(grown / 2, grown))

    def after_success(self, payloads: int) -> float:
        """Return how long to wait (s) so that the rate is kept."""
        self.faults = 0
        return payloads / self.rate if self.rate else 0.0
