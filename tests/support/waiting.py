"""Wait between two polls of a condition."""

import time


def rest() -> None:
    """Sleep before the next poll, so that polling does not take CPU time from the processes under test."""
    time.sleep(0.05)
