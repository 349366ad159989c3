"""Named places where the kill tests end the process, or halt it.

`HEADWATER_FAILPOINT=name:n,other:m` kills at the n-th pass of the one place or the m-th of the other; `name:halt` lets
the process stand still at the first pass of a place, until it gets SIGCONT.
"""

import os
import signal

VARIABLE = "HEADWATER_FAILPOINT"

_parts = [part.partition(":") for part in os.environ.get(VARIABLE, "").split(",") if part]
_halt = {name for name, _, count in _parts if count == "halt"}
_left = {name: 1 if name in _halt else int(count or 1) for name, _, count in _parts}


def reach(name: str) -> None:
    """Kill this process, as a power cut would, or halt it, if the environment names this place."""
    if name not in _left:
        return
    _left[name] -= 1
    if name in _halt:
        if _left[name] == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
    elif _left[name] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
