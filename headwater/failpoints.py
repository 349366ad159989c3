"""Named places where the kill tests end the process.

`HEADWATER_FAILPOINT=name:n,other:m` kills at the n-th pass of the one place or the m-th of the other.
"""

import os
import signal

VARIABLE = "HEADWATER_FAILPOINT"

_parts = [part.partition(":") for part in os.environ.get(VARIABLE, "").split(",") if part]
_left = {name: int(count or 1) for name, _, count in _parts}


def reach(name: str) -> None:
    """Kill this process, as a power cut would, if the environment names this place."""
    if name not in _left:
        return
    _left[name] -= 1
    if _left[name] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
