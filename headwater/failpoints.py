"""Named places where the kill tests end the process: `HEADWATER_FAILPOINT=name:n` kills at the n-th pass."""

import os
import signal

_name, _, _count = os.environ.get("HEADWATER_FAILPOINT", "").partition(":")
_left = int(_count or 1)


def reach(name: str) -> None:
    """Kill this process, as a power cut would, if the environment names this place."""
    global _left  # noqa: PLW0603 - one countdown for the life of the process
    if name != _name:
        return
    _left -= 1
    if _left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
