"""Named places in the code where crash tests kill or halt the process.

`HEADWATER_FAILPOINT=name:n,other:m` kills the process when it reaches `name` for the n-th time, or `other` for the m-th
time. `name:halt` stops the process when it first reaches `name`, until it receives SIGCONT.
"""

import os
import signal

VARIABLE = "HEADWATER_FAILPOINT"

_parts = [part.partition(":") for part in os.environ.get(VARIABLE, "").split(",") if part]
_halt = {name for name, _, count in _parts if count == "halt"}
_left = {name: 1 if name in _halt else int(count or 1) for name, _, count in _parts}


def reach_failpoint(name: str) -> None:
    """Kill this process with SIGKILL, or halt it, if HEADWATER_FAILPOINT names this place."""
    if name not in _left:
        return
    _left[name] -= 1
    if name in _halt:
        if _left[name] == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
    elif _left[name] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
