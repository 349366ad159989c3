"""Named places in the code where crash tests kill or halt the process.

`HEADWATER_FAILPOINT=name:n,other:m` kills the process the n-th time it reaches `name`, or the m-th time it reaches
`other`. `name:halt` stops the process at the first time, until it receives SIGCONT.
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
