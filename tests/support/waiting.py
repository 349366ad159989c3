"""Looking again and again for what nobody announces."""

import time


def rest() -> None:
    """Rest before the next look: who looks all the time takes the processor from those that it waits for."""
    time.sleep(0.02)
